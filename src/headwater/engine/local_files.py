"""Local files without a process for each: Hadoop sets permissions by running `chmod`, unless it has native code.

A micro-batch writes four files and their checksums to its checkpoint, so Spark would start eight processes for it.
`without_processes` puts a file system into Hadoop's cache that sets permissions by Java's own call and is in all else
Hadoop's. It is a few lines of Java, compiled by the compiler that Spark has for its queries.
"""

from __future__ import annotations

from typing import Any

_CLASS = "headwater.LocalFiles"
_SOURCE = """
package headwater;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalFiles extends LocalFileSystem {
    public LocalFiles() { super(new Raw()); }

    public static class Raw extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            if (permission.getStickyBit()) { super.setPermission(path, permission); return; }
            String mode = permission.getUserAction().SYMBOL
                + permission.getGroupAction().SYMBOL + permission.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(mode));
        }
    }
}
"""


def without_processes(session: Any) -> None:
    """Let a local Spark write files without starting processes; elsewhere, or where files aren't POSIX's, nothing."""
    jvm = session._jvm
    files, local = jvm.org.apache.hadoop.fs.FileSystem, jvm.java.net.URI("file:///")
    configuration = jvm.org.apache.hadoop.conf.Configuration(session._jsc.hadoopConfiguration())
    present = files.get(local, configuration)
    posix = jvm.java.nio.file.FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
    if not session._jsc.isLocal() or not posix or present.getClass().getName() == _CLASS:
        return
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE)
    configuration.setClassLoader(compiler.getClassLoader())
    configuration.set("fs.file.impl", _CLASS)
    present.close()  # which takes it out of the cache
    files.get(local, configuration)
