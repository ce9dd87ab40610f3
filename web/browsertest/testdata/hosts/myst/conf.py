project = "Cours"
copyright = "Cours"
version = "1"
language = "fr"
extensions = ["myst_parser", "vrametre"]
vrametre_url = "ROOT"
