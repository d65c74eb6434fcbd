-- SPDX-License-Identifier: MIT
--
-- A variety of SQL for a traced SQLite: `sqlite3 FILE <work.sql` on a file that does not exist yet.
-- Its output depends on all of its work, and output and calls are the same in each run: SQLite's
-- own random numbers are seeded.

.bail on
-- what an error is about, on stderr
.log stderr
.testctrl prng_seed 42
.mode list
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA foreign_keys = ON;

CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born INTEGER);
CREATE TABLE book (
	id INTEGER PRIMARY KEY,
	author INTEGER NOT NULL REFERENCES author (id) ON DELETE CASCADE,
	title TEXT NOT NULL,
	price REAL CHECK (price >= 0),
	pages INTEGER DEFAULT 100,
	body TEXT
);
CREATE TABLE change (at INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, book INTEGER);
CREATE TRIGGER book_changed AFTER UPDATE OF price ON book
BEGIN
	INSERT INTO change (what, book) VALUES ('price ' || old.price || '>' || new.price, new.id);
END;

-- insert, in a transaction and from a recursive query
BEGIN;
INSERT INTO author (name, born)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
SELECT printf('author %04d', i * 7919 % 10007), 1800 + i * 31 % 200 FROM n;
INSERT INTO book (author, title, price, pages, body)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
SELECT 1 + i * 13 % 400,
	substr('the a of in on', 1 + i % 9, 4) || ' ' || hex(i * 2654435761 % 4294967296),
	(i * 37 % 9000) / 100.0,
	50 + i * 17 % 900,
	CASE i % 4 WHEN 0 THEN 'red fox jumps over lazy dog ' WHEN 1 THEN 'lorem ipsum dolor sit amet '
		WHEN 2 THEN 'engine traces each call ' ELSE NULL END || i
FROM n;
COMMIT;

-- indexes: plain, partial, on an expression
CREATE INDEX book_author ON book (author, price DESC);
CREATE INDEX book_cheap ON book (price) WHERE price < 10;
CREATE INDEX book_upper ON book (upper(title));
ANALYZE;

-- joins, grouping, subqueries, compound queries
SELECT count(*), round(sum(price), 2), max(pages) FROM book JOIN author ON author.id = book.author
	WHERE born BETWEEN 1850 AND 1900;
SELECT a.name, count(b.id) AS n, round(avg(b.price), 2) FROM author a LEFT JOIN book b ON b.author = a.id
	GROUP BY a.id HAVING n > 10 ORDER BY avg(b.price) DESC, a.name LIMIT 5;
SELECT count(*) FROM book b WHERE price > (SELECT avg(price) FROM book c WHERE c.author = b.author);
SELECT count(*) FROM (SELECT pages FROM book WHERE price < 5 UNION SELECT born FROM author
	EXCEPT SELECT pages FROM book WHERE pages % 2 = 0);
SELECT count(*) FROM author WHERE EXISTS (SELECT 1 FROM book WHERE author = author.id AND pages > 900);
SELECT title FROM book WHERE upper(title) LIKE 'THE %' ORDER BY title COLLATE NOCASE LIMIT 3;

-- windows
SELECT author, title, rank FROM (
	SELECT author, title, rank() OVER (PARTITION BY author ORDER BY price DESC) AS rank,
		sum(pages) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS run
	FROM book) WHERE rank <= 1 AND run % 5 = 0 ORDER BY author LIMIT 5;
SELECT sum(l), sum(n) FROM (SELECT lag(pages, 1, 0) OVER w AS l, ntile(7) OVER w AS n FROM book
	WINDOW w AS (ORDER BY price, id));

-- change: trigger, upsert, delete that cascades, savepoint that rolls back
UPDATE book SET price = round(price * 1.1, 2) WHERE id % 11 = 0;
INSERT INTO author (id, name, born) VALUES (5, 'x', 1), (401, 'y', 2)
	ON CONFLICT (id) DO UPDATE SET born = born + 1;
SAVEPOINT s;
DELETE FROM author WHERE id < 200;
SELECT count(*) FROM book;
ROLLBACK TO s;
RELEASE s;
DELETE FROM author WHERE id % 50 = 0;
SELECT count(*), (SELECT count(*) FROM change), (SELECT sum(born) FROM author) FROM book;

-- full text
CREATE VIRTUAL TABLE search USING fts5 (title, body, tokenize = 'porter');
INSERT INTO search (rowid, title, body) SELECT id, title, body FROM book WHERE body IS NOT NULL;
SELECT count(*) FROM search WHERE search MATCH 'jumping OR tracing';
SELECT rowid, highlight(search, 1, '[', ']') FROM search WHERE search MATCH 'lazy AND dog' ORDER BY rank, rowid LIMIT 3;
SELECT count(*) FROM search WHERE search MATCH 'body: "ipsum dolor"';
INSERT INTO search (search) VALUES ('optimize');

-- JSON and dates
SELECT json_group_array(json_object('id', id, 'p', price)) FROM (SELECT id, price FROM book ORDER BY id LIMIT 3);
SELECT sum(json_extract(value, '$.n[1]')) FROM json_each(
	(SELECT json_group_array(json_object('n', json_array(id, pages))) FROM book WHERE id < 1500));
SELECT date('2001-09-09', '+100 days', 'start of month'), strftime('%j', '2024-12-31');

-- boxes
CREATE VIRTUAL TABLE box USING rtree (id, x0, x1, y0, y1);
INSERT INTO box SELECT id, id % 100, id % 100 + 5, id / 100, id / 100 + 3 FROM book WHERE id < 1500;
SELECT count(*) FROM box WHERE x0 < 50 AND x1 > 45 AND y0 < 10;

-- temporary tables, views, sorting that spills, explain
CREATE TEMP TABLE t AS SELECT id, title, hex(randomblob(0)) || body AS b FROM book ORDER BY body, title;
CREATE VIEW v AS SELECT author, sum(pages) AS p FROM book GROUP BY author;
SELECT max(p), min(p) FROM v;
SELECT count(*) FROM (SELECT DISTINCT b FROM t);
EXPLAIN QUERY PLAN SELECT * FROM book JOIN author ON author.id = book.author WHERE price < 3;
ALTER TABLE book ADD COLUMN isbn TEXT;
ALTER TABLE book RENAME COLUMN pages TO length;
DROP INDEX book_cheap;
PRAGMA integrity_check;
PRAGMA wal_checkpoint(TRUNCATE);
VACUUM;
PRAGMA journal_mode = DELETE;
PRAGMA integrity_check;
SELECT count(*), sum(length), group_concat(DISTINCT length % 5) FROM book;
