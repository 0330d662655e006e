CREATE CONNECTION pg TO POSTGRES (HOST 'db', PORT 5432, USER 'mz', PASSWORD SECRET pw, DATABASE 'school');
CREATE SOURCE school FROM POSTGRES CONNECTION pg (PUBLICATION 'mz_source') FOR TABLES (public.pupils AS pupils, public.marks);
CREATE MATERIALIZED VIEW marks_of AS SELECT p.name, m.mark FROM pupils p JOIN marks m ON p.id = m.pupil;
