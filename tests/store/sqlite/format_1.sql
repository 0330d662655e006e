BEGIN TRANSACTION;
CREATE TABLE headwater_batches (
  view TEXT NOT NULL, version INTEGER NOT NULL, batch INTEGER NOT NULL, commits TEXT NOT NULL, watermark TEXT NOT NULL,
  applied_at TEXT NOT NULL, changes_after INTEGER NOT NULL, changes_to INTEGER NOT NULL,
  PRIMARY KEY (view, version, batch)) WITHOUT ROWID;
INSERT INTO "headwater_batches" VALUES('settled',1,0,'{"payments": 0}','2026-01-01 00:00:00','2026-01-01 00:00:00',0,2);
INSERT INTO "headwater_batches" VALUES('settled',1,1,'{"payments": 1}','2026-01-01 00:00:01','2026-01-01 00:00:00',2,3);
INSERT INTO "headwater_batches" VALUES('settled',1,2,'{"payments": 2}','2026-01-01 00:00:02','2026-01-01 00:00:00',3,3);
INSERT INTO "headwater_batches" VALUES('settled',1,3,'{"payments": 3}','2026-01-01 00:00:03','2026-01-01 00:00:00',3,5);
INSERT INTO "headwater_batches" VALUES('spend',1,0,'{"payments": 0}','2026-01-01 00:00:00','2026-01-01 00:00:00',0,1);
INSERT INTO "headwater_batches" VALUES('spend',1,1,'{"payments": 1}','2026-01-01 00:00:01','2026-01-01 00:00:00',1,2);
CREATE TABLE "headwater_changes_settled__v1" (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, "key_card", "key_minute", "before_spent", "after_spent");
INSERT INTO "headwater_changes_settled__v1" VALUES(1,'insert','a',1,NULL,1.5);
INSERT INTO "headwater_changes_settled__v1" VALUES(2,'insert','b',1,NULL,1.0);
INSERT INTO "headwater_changes_settled__v1" VALUES(3,'insert','b',2,NULL,1.0);
INSERT INTO "headwater_changes_settled__v1" VALUES(4,'insert','a',2,NULL,7.0);
INSERT INTO "headwater_changes_settled__v1" VALUES(5,'insert',NULL,2,NULL,8.0);
CREATE TABLE "headwater_changes_spend__v1" (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, "key_card", "key_minute", "before_spent", "after_spent");
INSERT INTO "headwater_changes_spend__v1" VALUES(1,'insert','a',1,NULL,1.5);
INSERT INTO "headwater_changes_spend__v1" VALUES(2,'update','a',1,1.5,2.0);
CREATE TABLE headwater_epochs (
  view TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL, holder TEXT NOT NULL, taken_at TEXT NOT NULL,
  PRIMARY KEY (view, version)) WITHOUT ROWID;
INSERT INTO "headwater_epochs" VALUES('settled',1,1,'process 1 on a machine','2026-01-01 00:00:00');
INSERT INTO "headwater_epochs" VALUES('spend',1,1,'process 1 on a machine','2026-01-01 00:00:00');
CREATE TABLE headwater_format (format INTEGER NOT NULL);
INSERT INTO "headwater_format" VALUES(1);
CREATE TABLE headwater_ledger (
  view TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (view, version, name)) WITHOUT ROWID;
CREATE TABLE headwater_promoted (
  view TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE headwater_versions (
  view TEXT NOT NULL, version INTEGER NOT NULL, fingerprint TEXT NOT NULL, columns BLOB NOT NULL, key TEXT NOT NULL,
  emit TEXT NOT NULL, statements TEXT NOT NULL, created_at TEXT NOT NULL, trimmed INTEGER,
  PRIMARY KEY (view, version)) WITHOUT ROWID;
INSERT INTO "headwater_versions" VALUES('settled',1,'plan',X'FFFFFFFFE80000001000000000000A000C000600050008000A000000000104000C00000008000800000004000800000004000000030000008C000000400000000400000090FFFFFF0000010710000000200000000400000000000000050000007370656E7400000008000C0004000800080000001600000002000000C8FFFFFF0000010210000000200000000400000000000000060000006D696E757465000008000C0008000700080000000000000120000000100014000800060007000C00000010001000000000000105100000001C00000004000000000000000400000063617264000000000400040004000000','["card", "minute"]','final','["CREATE TABLE \"settled__v1\" (\"card\" TEXT, \"minute\" INT, \"spent\", PRIMARY KEY (\"card\", \"minute\"))", "CREATE UNIQUE INDEX \"headwater_null_keys_settled__v1\" ON \"settled__v1\" (COALESCE(\"card\", x''''), COALESCE(\"minute\", x'''')) WHERE \"card\" IS NULL OR \"minute\" IS NULL", "CREATE TABLE \"headwater_changes_settled__v1\" (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, \"key_card\", \"key_minute\", \"before_spent\", \"after_spent\")", "CREATE TRIGGER \"headwater_update_settled__v1\" AFTER UPDATE ON \"settled__v1\" WHEN OLD.\"spent\" IS NOT NEW.\"spent\" BEGIN INSERT INTO \"headwater_changes_settled__v1\" (op, \"key_card\", \"key_minute\", \"before_spent\", \"after_spent\") VALUES (''update'', NEW.\"card\", NEW.\"minute\", OLD.\"spent\", NEW.\"spent\"); END", "CREATE TRIGGER \"headwater_delete_settled__v1\" AFTER DELETE ON \"settled__v1\"  BEGIN INSERT INTO \"headwater_changes_settled__v1\" (op, \"key_card\", \"key_minute\", \"before_spent\") VALUES (''delete'', OLD.\"card\", OLD.\"minute\", OLD.\"spent\"); END", "CREATE VIEW \"settled__v1__changes\" AS SELECT op, CASE WHEN op <> ''insert'' THEN json_object(''card'', \"key_card\", ''minute'', \"key_minute\", ''spent'', \"before_spent\") END AS before, CASE WHEN op <> ''delete'' THEN json_object(''card'', \"key_card\", ''minute'', \"key_minute\", ''spent'', \"after_spent\") END AS \"after\", batch, commits AS \"commit\", applied_at AS at FROM \"headwater_changes_settled__v1\" JOIN headwater_batches ON view = ''settled'' AND version = 1 AND headwater_batches.changes_after < seq AND seq <= headwater_batches.changes_to"]','2026-01-01 00:00:00',NULL);
INSERT INTO "headwater_versions" VALUES('spend',1,'plan',X'FFFFFFFFE80000001000000000000A000C000600050008000A000000000104000C00000008000800000004000800000004000000030000008C000000400000000400000090FFFFFF0000010710000000200000000400000000000000050000007370656E7400000008000C0004000800080000001600000002000000C8FFFFFF0000010210000000200000000400000000000000060000006D696E757465000008000C0008000700080000000000000120000000100014000800060007000C00000010001000000000000105100000001C00000004000000000000000400000063617264000000000400040004000000','["card", "minute"]','changes','["CREATE TABLE \"spend__v1\" (\"card\" TEXT, \"minute\" INT, \"spent\", PRIMARY KEY (\"card\", \"minute\"))", "CREATE UNIQUE INDEX \"headwater_null_keys_spend__v1\" ON \"spend__v1\" (COALESCE(\"card\", x''''), COALESCE(\"minute\", x'''')) WHERE \"card\" IS NULL OR \"minute\" IS NULL", "CREATE TABLE \"headwater_changes_spend__v1\" (seq INTEGER PRIMARY KEY, op TEXT NOT NULL, \"key_card\", \"key_minute\", \"before_spent\", \"after_spent\")", "CREATE TRIGGER \"headwater_update_spend__v1\" AFTER UPDATE ON \"spend__v1\" WHEN OLD.\"spent\" IS NOT NEW.\"spent\" BEGIN INSERT INTO \"headwater_changes_spend__v1\" (op, \"key_card\", \"key_minute\", \"before_spent\", \"after_spent\") VALUES (''update'', NEW.\"card\", NEW.\"minute\", OLD.\"spent\", NEW.\"spent\"); END", "CREATE TRIGGER \"headwater_delete_spend__v1\" AFTER DELETE ON \"spend__v1\"  BEGIN INSERT INTO \"headwater_changes_spend__v1\" (op, \"key_card\", \"key_minute\", \"before_spent\") VALUES (''delete'', OLD.\"card\", OLD.\"minute\", OLD.\"spent\"); END", "CREATE VIEW \"spend__v1__changes\" AS SELECT op, CASE WHEN op <> ''insert'' THEN json_object(''card'', \"key_card\", ''minute'', \"key_minute\", ''spent'', \"before_spent\") END AS before, CASE WHEN op <> ''delete'' THEN json_object(''card'', \"key_card\", ''minute'', \"key_minute\", ''spent'', \"after_spent\") END AS \"after\", batch, commits AS \"commit\", applied_at AS at FROM \"headwater_changes_spend__v1\" JOIN headwater_batches ON view = ''spend'' AND version = 1 AND headwater_batches.changes_after < seq AND seq <= headwater_batches.changes_to"]','2026-01-01 00:00:00',NULL);
CREATE TABLE "settled__v1" ("card" TEXT, "minute" INT, "spent", PRIMARY KEY ("card", "minute"));
INSERT INTO "settled__v1" VALUES('a',1,1.5);
INSERT INTO "settled__v1" VALUES('b',1,1.0);
INSERT INTO "settled__v1" VALUES('b',2,1.0);
INSERT INTO "settled__v1" VALUES('a',2,7.0);
INSERT INTO "settled__v1" VALUES(NULL,2,8.0);
CREATE TABLE "spend__v1" ("card" TEXT, "minute" INT, "spent", PRIMARY KEY ("card", "minute"));
INSERT INTO "spend__v1" VALUES('a',1,2.0);
CREATE UNIQUE INDEX "headwater_null_keys_spend__v1" ON "spend__v1" (COALESCE("card", x''), COALESCE("minute", x'')) WHERE "card" IS NULL OR "minute" IS NULL;
CREATE TRIGGER "headwater_update_spend__v1" AFTER UPDATE ON "spend__v1" WHEN OLD."spent" IS NOT NEW."spent" BEGIN INSERT INTO "headwater_changes_spend__v1" (op, "key_card", "key_minute", "before_spent", "after_spent") VALUES ('update', NEW."card", NEW."minute", OLD."spent", NEW."spent"); END;
CREATE TRIGGER "headwater_delete_spend__v1" AFTER DELETE ON "spend__v1"  BEGIN INSERT INTO "headwater_changes_spend__v1" (op, "key_card", "key_minute", "before_spent") VALUES ('delete', OLD."card", OLD."minute", OLD."spent"); END;
CREATE VIEW "spend__v1__changes" AS SELECT op, CASE WHEN op <> 'insert' THEN json_object('card', "key_card", 'minute', "key_minute", 'spent', "before_spent") END AS before, CASE WHEN op <> 'delete' THEN json_object('card', "key_card", 'minute', "key_minute", 'spent', "after_spent") END AS "after", batch, commits AS "commit", applied_at AS at FROM "headwater_changes_spend__v1" JOIN headwater_batches ON view = 'spend' AND version = 1 AND headwater_batches.changes_after < seq AND seq <= headwater_batches.changes_to;
CREATE UNIQUE INDEX "headwater_null_keys_settled__v1" ON "settled__v1" (COALESCE("card", x''), COALESCE("minute", x'')) WHERE "card" IS NULL OR "minute" IS NULL;
CREATE TRIGGER "headwater_update_settled__v1" AFTER UPDATE ON "settled__v1" WHEN OLD."spent" IS NOT NEW."spent" BEGIN INSERT INTO "headwater_changes_settled__v1" (op, "key_card", "key_minute", "before_spent", "after_spent") VALUES ('update', NEW."card", NEW."minute", OLD."spent", NEW."spent"); END;
CREATE TRIGGER "headwater_delete_settled__v1" AFTER DELETE ON "settled__v1"  BEGIN INSERT INTO "headwater_changes_settled__v1" (op, "key_card", "key_minute", "before_spent") VALUES ('delete', OLD."card", OLD."minute", OLD."spent"); END;
CREATE VIEW "settled__v1__changes" AS SELECT op, CASE WHEN op <> 'insert' THEN json_object('card', "key_card", 'minute', "key_minute", 'spent', "before_spent") END AS before, CASE WHEN op <> 'delete' THEN json_object('card', "key_card", 'minute', "key_minute", 'spent', "after_spent") END AS "after", batch, commits AS "commit", applied_at AS at FROM "headwater_changes_settled__v1" JOIN headwater_batches ON view = 'settled' AND version = 1 AND headwater_batches.changes_after < seq AND seq <= headwater_batches.changes_to;
COMMIT;
