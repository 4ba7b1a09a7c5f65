"""What people paste: error texts of any language become symptoms with codes, paths and DLL names, and their causes.

``stream`` gives clean lines of a log, ``recognise`` turns a few lines into symptoms with the patterns of ``forms`` and
the words of ``messages``, ``reader`` merges the symptoms of a whole text. ``causes`` and ``templates`` say what is
behind them. ``recordings`` reads what tools saw a loader do, ``triage`` what a text says about a machine.
"""
