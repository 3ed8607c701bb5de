"""nlgauge over HTTP: the service (extra `service`) and its client (extra `client`)."""
