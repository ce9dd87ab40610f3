project = "Cours"
copyright = "Cours"
version = "1"
language = "fr"
extensions = ["vrametre"]
vrametre_url = "ROOT"
latex_engine = "xelatex"
