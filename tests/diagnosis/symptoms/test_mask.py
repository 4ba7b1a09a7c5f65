from __future__ import annotations

import pytest

from wheelfix.diagnosis.machine import mask_users, user_names


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"C:\Users\dana\envs\lab", r"C:\Users\<user>\envs\lab"),
        (r"c:\users\José Peña\AppData\Roaming", r"c:\users\<user>\AppData\Roaming"),
        (r"C:\\Users\\dana\\x", r"C:\\Users\\<user>\\x"),
        ("C:/Users/dana/x", "C:/Users/<user>/x"),
        (r"\\?\C:\Users\dana\x", r"\\?\C:\Users\<user>\x"),
        (r"C:\Users\DANAK~1\AppData", r"C:\Users\<user>\AppData"),
        ("/home/dana/venv", "/home/<user>/venv"),
        ("/Users/dana/venv", "/Users/<user>/venv"),
        (r'loading "C:\Users\dana\a.dll" or', r'loading "C:\Users\<user>\a.dll" or'),
        (r"PATH=C:\Users\dana\bin;C:\Users\dana", r"PATH=C:\Users\<user>\bin;C:\Users\<user>"),
        (r"C:\Documents and Settings\Dana K\x", r"C:\Documents and Settings\<user>\x"),
        (r"C:\Users\dana is full", r"C:\Users\<user> is full"),
        (r"C:\Users\Public\x", r"C:\Users\Public\x"),
        (r"%APPDATA%\Python\Python311", r"%APPDATA%\Python\Python311"),
        (r"C:\Program Files\Python311", r"C:\Program Files\Python311"),
        ("https://example.org/users/list", "https://example.org/users/list"),
        (r"C:\Users\<user>\x", r"C:\Users\<user>\x"),
    ],
)
def test_names_are_masked(text: str, masked: str) -> None:
    assert mask_users(text) == masked


def test_the_users_own_name_is_masked_in_other_folders_too() -> None:
    assert mask_users(r"D:\work\dana\x and danario", ("dana",)) == r"D:\work\<user>\x and danario"
    assert user_names({"USERNAME": "dana", "USER": "dana", "LOGNAME": "me"}) == ("dana",)
    assert user_names({"USER": "root"}) == ()
