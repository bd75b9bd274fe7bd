"""How many discoveries are false, and how many real variables are found, in made data."""
