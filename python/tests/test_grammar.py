"""The package and its examples keep to the grammar of the oldest Python that they support."""
import ast
import pathlib
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[1]


class Grammar(unittest.TestCase):
    def test_python_3_9(self):
        files = sorted(PYTHON.glob("raybridge/*.py")) + sorted(PYTHON.glob("examples/*.py"))
        self.assertGreater(len(files), 10)
        for file in files:
            with self.subTest(file.name):
                ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
