"""What has to hold for every wheel and environment, whatever is in it; held over generated ones."""
