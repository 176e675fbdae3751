"""`qobserve demo`: a real server, a real BullMQ workload and the exporter on it, on one machine and gone afterwards."""
