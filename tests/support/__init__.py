"""Small builders that several tests share."""
