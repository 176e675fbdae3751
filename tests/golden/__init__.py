"""The golden scrape: one fixed snapshot, and the text that it must become, byte for byte."""
