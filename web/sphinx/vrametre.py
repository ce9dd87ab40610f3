"""Figures of vramètre in Sphinx documents.

In ``conf.py``::

    extensions = ["vrametre"]                      # this file, on Python's path
    vrametre_url = "https://example.org/vrametre/"  # where the site is

In a document::

    .. vrametre:: timeline
       :state: batch=64&side=128
       :hide: nav
       :lock: gpu

       A caption, if need be.

HTML gets the live figure. PDF, EPUB and all other formats get its picture, with
the settings that the lesson begins with, and a link to the live one; or the link
alone for parts that have no picture, or whose result is hidden.

Options: ``state`` is the end of an address of the site, after its ``#``;
``hide`` lists settings, result, caption, table, tank, nav; ``lock`` lists
controls, or all; ``theme`` is light or dark; ``lang`` is fr or en, by default
the document's; ``height`` is the frame's in pixels until the figure tells its
own; ``title`` names the figure for who does not see it; ``frame`` writes a plain
iframe, for pages without scripts of other sites.

Needs Sphinx 5 or later and nothing else.
"""

from __future__ import annotations

import html
import re
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

# The parts that have a picture and the others, with their height in pixels in a
# column of 720, for frames that are not told.
PICTURED = {
    "slots": 260, "images": 540, "maps": 800, "timeline": 760, "where": 740, "times8": 360, "memory": 540,
    "blocks": 480, "infer": 580, "tank": 220, "atelier-timeline": 740, "atelier-memory": 500, "layers": 800,
}  # fmt: skip
OTHERS = {"puzzle": 520, "atelier": 1280}
QUESTION = 220
QUESTIONS = {
    f"{kind}-{section}": QUESTION
    for kind in ("predict", "recall")
    for section in ("activations", "batch", "buffers", "compute", "inference", "message", "times8", "total", "weights")
}
FIGURES = {**PICTURED, **OTHERS, **QUESTIONS}
LANGUAGES = ("fr", "en")  # the first at the root of the site
HIDDEN = ("settings", "result", "caption", "table", "tank", "nav")

# What may stand in a fragment as it is.
SAFE = "&=,;~+%:.-_!*'()/"


class vrametre_figure(nodes.General, nodes.Element):
    """A live figure in HTML, its children everywhere else."""


def figure(argument: str) -> str:
    return directives.choice(argument, tuple(FIGURES))


def theme(argument: str) -> str:
    return directives.choice(argument, ("light", "dark"))


def language(argument: str) -> str:
    return directives.choice(argument, LANGUAGES)


def names(argument: str) -> str:
    found = re.split(r"[\s,]+", directives.unchanged_required(argument).strip())
    for name in found:
        if not re.fullmatch(r"[A-Za-z0-9.-]+", name):
            raise ValueError(f'"{name}" is no name: names are separated by commas')
    return ",".join(found)


def hidden(argument: str) -> str:
    for name in names(argument).split(","):
        directives.choice(name, HIDDEN)
    return names(argument)


class Vrametre(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec = {
        "state": directives.unchanged,
        "hide": hidden,
        "lock": names,
        "theme": theme,
        "lang": language,
        "height": directives.positive_int,
        "title": directives.unchanged_required,
        "frame": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        try:
            name = figure(self.arguments[0])
        except ValueError as error:
            raise self.error(f"vrametre: {error}")
        root = self.config.vrametre_url
        if not re.match(r"(https?|file)://", root):
            raise ExtensionError(
                "vrametre_url is not set in conf.py: it is the address of the site, such as https://example.org/vrametre/"
            )
        root = root.rstrip("/") + "/"

        lang = self.options.get("lang") or (self.config.language or "")[:2]
        if lang not in LANGUAGES:
            lang = LANGUAGES[0]
        folder = "" if lang == LANGUAGES[0] else lang + "/"
        pairs = [pair for pair in self.options.get("state", "").lstrip("#").split("&") if pair and not pair.startswith("v=")]
        pairs += [f"{key}={self.options[key]}" for key in ("theme", "hide", "lock") if key in self.options]
        fragment = quote("&".join(["v=1", *pairs]), safe=SAFE)
        page = f"{root}{folder}embed/{name}/#{fragment}"

        caption: nodes.Element | None = None
        if self.content:
            caption = nodes.caption("", "")
            caption.source, caption.line = self.get_source_info()
            inline, messages = self.state.inline_text(" ".join(self.content), self.lineno)
            caption.extend([*inline, *messages])
        title = self.options.get("title") or (caption.astext() if caption else f"vramètre, {name}")

        node = vrametre_figure(
            "", figure=name, page=page, root=root, lang=lang, title=title, fragment=fragment,
            height=self.options.get("height", FIGURES[name]), frame="frame" in self.options,
        )  # fmt: skip
        link = nodes.reference("", "", refuri=page)
        # A picture says what it shows.
        pictured = name in PICTURED and "result" not in self.options.get("hide", "").split(",")
        if pictured:
            image = nodes.image(uri=f"{root}figures/{name}.{lang}.png", alt=title)
            image["width"] = "100%"
            node["picture"] = image["uri"]
            link += image
        else:
            link += nodes.Text(title)
        body = nodes.figure("", link)
        if not pictured:
            body = nodes.paragraph("", "", link)
            if caption and "title" in self.options:  # otherwise the link says it
                body += [nodes.Text(" "), *caption.children]
        elif caption:
            body += caption
        node += body
        self.set_source_info(node)
        return [node]


def visit_html(self, node: vrametre_figure) -> None:
    if self.builder.name == "epub":  # a book has no scripts of other sites
        return
    escape = lambda text: html.escape(str(text), quote=True)
    body = next(iter(node.children))
    caption = next(iter(body.findall(nodes.caption)), None)
    self.body.append('<div class="vrametre figure">')
    if node["frame"]:
        self.body.append(
            f'<iframe src="{escape(node["page"])}" title="{escape(node["title"])}" height="{node["height"]}"'
            ' style="display:block;width:100%;border:0" loading="lazy" allow="clipboard-write"></iframe>'
        )
    else:
        inside = escape(node["title"])
        if "picture" in node:
            inside = f'<img src="{escape(node["picture"])}" alt="{inside}" loading="lazy" style="width:100%">'
        self.body.append(
            f'<vrametre-figure figure="{node["figure"]}" lang="{node["lang"]}" title="{escape(node["title"])}"'
            f' state="{escape(node["fragment"])}" height="{node["height"]}">'
            f'<a href="{escape(node["page"])}">{inside}</a></vrametre-figure>'
        )
    if caption is not None:
        self.body.append('<p class="caption">')
        for child in caption.children:
            child.walkabout(self)
        self.body.append("</p>")
    self.body.append("</div>")
    raise nodes.SkipNode


def visit_other(self, node: vrametre_figure) -> None:
    pass


def depart(self, node: vrametre_figure) -> None:
    pass


def load(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Adds the site's script to the pages that have a figure."""
    if app.builder.name == "epub" or doctree is None:
        return
    for node in doctree.findall(vrametre_figure):
        if not node["frame"]:
            app.add_js_file(node["root"] + "embed.js", loading_method="defer")
            return


def setup(app: Sphinx) -> dict[str, object]:
    app.add_config_value("vrametre_url", "", "env", [str])
    other = (visit_other, depart)
    app.add_node(vrametre_figure, html=(visit_html, depart), latex=other, text=other, man=other, texinfo=other)
    app.add_directive("vrametre", Vrametre)
    app.connect("html-page-context", load)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
