"""Reads an HTML page as strictly as a test should."""

from html.parser import HTMLParser

NO_END = {"meta", "img", "br"}
CELLS = {"td", "th"}


class Page(HTMLParser):
    """A page whose every element is closed in order; `rows` has the cells of every table row as text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.rows = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        elif tag in CELLS:
            self.rows[-1].append("")
        if tag not in NO_END:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
            if CELLS & set(self.open):
                self.rows[-1][-1] = f"{self.rows[-1][-1]} {data}".strip()

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def ids(self):
        return [value for name, value in self.attributes if name == "id"]
