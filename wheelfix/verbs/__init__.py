"""What wheelfix can do: each verb is a short story over the rooms."""
