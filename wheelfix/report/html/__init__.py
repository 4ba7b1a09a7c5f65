"""Reports as one HTML file that needs no network: scans, repairs and comparisons."""
