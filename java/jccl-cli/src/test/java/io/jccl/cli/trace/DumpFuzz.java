package io.jccl.cli.trace;

import io.jccl.cli.output.Json;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Fuzz target that reads, compares and merges the dumps of one or several ranks, which are separated by zero bytes. */
public final class DumpFuzz {

    private static final Path FILE = Path.of("fuzz");

    private DumpFuzz() {}

    /**
     * Reads the bytes as dumps. A dump may be refused with the name of the file and a reason; any other failure is
     * thrown.
     */
    public static void fuzzerTestOneInput(byte[] data) {
        List<Dump> dumps = new ArrayList<>();
        for (String dump : new String(data, StandardCharsets.ISO_8859_1).split("\0")) {
            try {
                dumps.add(DumpReader.read(FILE, dump.getBytes(StandardCharsets.ISO_8859_1)));
            } catch (IllegalArgumentException e) {
                if (!e.getMessage().startsWith("file=fuzz: is no dump of a rank (")) {
                    throw new IllegalStateException("refused without the name of the file and a reason", e);
                }
            }
        }
        List<TimelineWriter.Group> groups = TraceCommand.groups(DumpReader.last(dumps));
        groups.forEach(TraceCommand::describe);
        Json.line(json -> TimelineWriter.write(groups, json));
    }
}
