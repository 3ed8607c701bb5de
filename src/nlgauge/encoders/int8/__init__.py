"""Products with weights in eight bits, with scales that are fixed beforehand (`precision=int8`)."""
