"""What people paste: error texts of any language become symptoms with codes, paths and DLL names, and their causes.

A text goes one way: ``stream`` makes clean lines of a log, ``recognise`` turns a few lines into symptoms (``model``)
by the forms and words of the tables, with ``messages`` for what words alone show, and ``reader`` merges the symptoms
of a whole text and finds the one that ended the program. ``causes`` says what is behind a symptom and what to try.

Besides, ``facts`` has what the text says about the machine, ``pairs`` two releases that do not go together, ``quotes``
the lines that decide. ``recordings`` reads what tools saw a loader do.
"""
