# SPDX-License-Identifier: BSD-3-Clause
"""A web service with FastAPI: products, search and orders in a SQLite database. `uvicorn shop:app` starts it."""

import contextlib
import datetime
import random
import sqlite3
import threading

from fastapi import FastAPI, HTTPException

PRODUCTS, CUSTOMERS, PURCHASES = 1000, 60, 15_000
COMPANY, COMPANY_PURCHASES = 7, 4000  # a customer who buys more than all others
local = threading.local()  # a connection for each thread
# the database in memory exists while this connection is open
keep = sqlite3.connect("file:shop?mode=memory&cache=shared", uri=True, check_same_thread=False)


def database():
    if not hasattr(local, "connection"):
        local.connection = sqlite3.connect("file:shop?mode=memory&cache=shared", uri=True)
        local.connection.row_factory = sqlite3.Row
    return local.connection


def fill():
    rng = random.Random(3)
    words = ("blue", "green", "small", "large", "wooden", "steel", "table", "chair", "lamp", "desk", "shelf", "box")
    keep.execute("CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
    keep.execute("CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER, product INTEGER, day TEXT)")
    keep.executemany(
        "INSERT INTO product VALUES (?, ?, ?)",
        ((n, " ".join(rng.sample(words, 3)), round(rng.uniform(1, 400), 2)) for n in range(PRODUCTS)),
    )
    begin = datetime.date(2026, 1, 1)
    days = [str(begin + datetime.timedelta(days=n)) for n in range(300)]
    buyers = [COMPANY if n < COMPANY_PURCHASES else rng.randrange(CUSTOMERS) for n in range(PURCHASES)]
    keep.executemany(
        "INSERT INTO purchase (customer, product, day) VALUES (?, ?, ?)",
        ((buyer, rng.randrange(PRODUCTS), rng.choice(days)) for buyer in buyers),
    )
    keep.commit()


@contextlib.asynccontextmanager
async def lifespan(app):
    fill()
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/product/{number}")
def product(number: int):
    row = database().execute("SELECT * FROM product WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise HTTPException(404)
    return dict(row)


@app.get("/search")
def search(word: str):
    rows = database().execute("SELECT * FROM product WHERE name LIKE ? LIMIT 20", (f"%{word}%",))
    return [dict(row) for row in rows]


def purchases(customer):
    rows = database().execute("SELECT * FROM purchase WHERE customer = ? ORDER BY day", (customer,))
    return [dict(row) for row in rows]


def price(number):
    return database().execute("SELECT price FROM product WHERE id = ?", (number,)).fetchone()["price"]


def month(day):
    return datetime.datetime.strptime(day, "%Y-%m-%d").strftime("%B %Y")


@app.get("/customer/{number}/report")
def customer_report(number: int):
    """What a customer paid in each month."""
    sums = {}
    for purchase in purchases(number):
        name = month(purchase["day"])
        sums[name] = round(sums.get(name, 0) + price(purchase["product"]), 2)
    return sums
