# Copies INPUT to OUTPUT with our includes by file name alone.
file(READ ${INPUT} text)
string(REGEX REPLACE "#include \"[a-z/]*/(ingot[a-z_]*[.]h)\"" "#include \"\\1\"" text "${text}")
file(WRITE ${OUTPUT} "${text}")
