"""Reports for people: a report and a style in, text out. Only this folder imports rich."""
