"""Reports as one HTML file that needs no network: scans, repairs and comparisons.

``element`` builds HTML in which all text is escaped, ``graph`` draws who needs whom, ``scan`` is the page over
reports.
"""
