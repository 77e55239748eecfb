"""A street world in MuJoCo: what stands and moves in it (state), its look (parts, town, scene), and cameras on it."""
