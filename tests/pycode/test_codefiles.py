"""What Python code that is followed finds of the files of a view."""

from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.pycode.windows import ViewFiles


def test_of_others_only_code_is_followed_that_may_say_where_files_are():
    """fiona uses decorators of attrs: following them took longer than all the rest of the set."""
    code = {
        "pkg/__init__.py": "x = 1\n",
        "other/__init__.py": "from other.making import made\n",
        "other/making.py": "def made(one):  # in all environments\n    return one\n",
        "other/places.py": "def where():\n    return __file__\n",
    }
    files = {f"Lib/site-packages/{path}": text for path, text in code.items()}
    view = make_view(files).focused(frozenset({"Lib/site-packages/pkg/__init__.py"}))
    read = {path for path in code if ViewFiles(view, Profile()).source(f"Lib/site-packages/{path}") is not None}
    assert read == {"pkg/__init__.py", "other/__init__.py", "other/places.py"}
