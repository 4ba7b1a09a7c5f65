"""Reports for people and machines; each renderer takes a report and gives text."""
