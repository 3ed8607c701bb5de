"""nlgauge over HTTP: the service and its client (extra `service`)."""
