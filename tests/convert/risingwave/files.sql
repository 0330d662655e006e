CREATE SOURCE receipts (id varchar, total decimal(10, 2), lines struct<sku varchar, n int>[])
WITH (connector = 's3', s3.bucket_name = 'receipts', s3.region_name = 'eu-central-1', match_pattern = '*.ndjson', s3.credentials.access = 'A', s3.credentials.secret = 'S')
FORMAT PLAIN ENCODE JSON;
CREATE SOURCE old_receipts (id varchar, total decimal(10, 2)) WITH (connector = 'posix_fs', posix_fs.root = '/srv/receipts', match_pattern = '*.csv')
FORMAT PLAIN ENCODE CSV (without_header = 'false', delimiter = ',');
CREATE VIEW all_receipts AS SELECT id, total FROM receipts UNION ALL SELECT id, total FROM old_receipts;
CREATE VIEW first_lines AS SELECT id, lines[1] AS line FROM receipts;
