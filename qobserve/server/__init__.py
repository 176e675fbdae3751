"""HTTP: the scrapes that Prometheus asks for, and the pages round them."""
