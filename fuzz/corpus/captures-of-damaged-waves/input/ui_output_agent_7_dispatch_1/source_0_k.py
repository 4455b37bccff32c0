@kernel
def k():
    load()
    add()
