"""What a repair will do, decided before anything is written: printable, dumpable, replayable."""
