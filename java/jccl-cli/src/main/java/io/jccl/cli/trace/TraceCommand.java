package io.jccl.cli.trace;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Json;
import io.jccl.cli.output.OutputFile;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The subcommand {@code jccl trace}. */
@Command(
        name = "trace",
        description = {
            "Compares the dumps of a job's ranks, and merges them into one timeline.",
            "",
            "Ranks write their last operations to JCCL_DUMP_DIR when their communicator fails or times out, or when jccl ps "
                    + "--dump asks. The comparison names the first operation in which they differ, the ranks that "
                    + "never entered, those that entered last, and channels that waited. The timeline is for "
                    + "https://ui.perfetto.dev or chrome://tracing.",
            ""
        },
        footer = {"", "Example:  jccl trace /tmp/dumps -o timeline.json"},
        sortOptions = false)
public final class TraceCommand implements Callable<Integer> {

    @Parameters(paramLabel = "DIR", description = "the folder with the dumps of all ranks")
    private Path folder;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description =
                    "write the timeline to FILE; - is standard output, and the comparison then goes to standard error")
    private String output;

    @Option(names = "--json", description = "print the comparison as JSON")
    private boolean asJson;

    private TraceCommand() {}

    @Override
    public Integer call() {
        boolean toFile = output != null && OutputFile.isFile(output);
        if (toFile) {
            OutputFile.requireWritable("output", Path.of(output));
        }
        DumpReader.Found found = DumpReader.readAll(folder);
        PrintStream text = output == null || toFile ? System.out : System.err;
        List<TimelineWriter.Group> groups = groups(found.dumps());
        if (asJson) {
            text.println(Json.pretty(json -> write(groups, found.problems(), json)));
        } else {
            groups.forEach(group -> text.print(describe(group)));
        }
        found.problems().forEach(problem -> System.err.println("jccl trace: " + problem));
        if (output != null) {
            write(groups, toFile);
        }
        return found.problems().isEmpty() ? ExitCode.SUCCESS : ExitCode.FAILURE;
    }

    /** Returns the communicators, ordered by the time of their lowest rank's dump. */
    static List<TimelineWriter.Group> groups(List<Dump> dumps) {
        Map<String, List<Dump>> sessions =
                dumps.stream().collect(Collectors.groupingBy(Dump::session, TreeMap::new, Collectors.toList()));
        return sessions.values().stream()
                .map(ofSession -> ofSession.stream()
                        .sorted(Comparator.comparingInt(Dump::rank))
                        .toList())
                .sorted(Comparator.comparingLong(ofSession -> ofSession.get(0).wallNanos()))
                .map(ofSession -> new TimelineWriter.Group(ofSession, Clocks.of(ofSession)))
                .toList();
    }

    static String describe(TimelineWriter.Group group) {
        List<Dump> dumps = group.dumps();
        Dump first = dumps.get(0);
        List<String> lines = new ArrayList<>();
        lines.add("communicator=" + first.communicator() + " size=" + first.size() + " dumps=" + dumps.size() + ", "
                + group.clocks().describe());
        dumps.stream()
                .filter(dump -> dump.failure().isPresent())
                .findFirst()
                .ifPresent(dump -> lines.add("  failure at rank=" + dump.rank() + ": "
                        + dump.failure().get().lines().findFirst().orElse("")));
        new Comparison(dumps, group.clocks()).findings().forEach(finding -> lines.add("  " + finding.text()));
        return String.join("\n", lines) + "\n";
    }

    private static void write(List<TimelineWriter.Group> groups, List<String> problems, JsonGenerator json)
            throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("communicators");
        for (TimelineWriter.Group group : groups) {
            Dump first = group.dumps().get(0);
            json.writeStartObject();
            json.writeStringField("communicator", first.communicator());
            json.writeStringField("session", first.session());
            json.writeNumberField("size", first.size());
            json.writeArrayFieldStart("ranks");
            for (Dump dump : group.dumps()) {
                json.writeNumber(dump.rank());
            }
            json.writeEndArray();
            json.writeStringField("clocks", group.clocks().describe());
            json.writeArrayFieldStart("findings");
            for (Comparison.Finding finding : new Comparison(group.dumps(), group.clocks()).findings()) {
                json.writeStartObject();
                json.writeStringField("kind", finding.kind());
                json.writeStringField("text", finding.text());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("problems");
        for (String problem : problems) {
            json.writeString(problem);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void write(List<TimelineWriter.Group> groups, boolean toFile) {
        String timeline = Json.line(json -> TimelineWriter.write(groups, json));
        if (!toFile) {
            System.out.println(timeline);
            return;
        }
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(output)))) {
            out.write(timeline.getBytes(StandardCharsets.UTF_8));
            out.write('\n');
        } catch (IOException e) {
            throw OutputFile.unwritable("output", output, e);
        }
    }
}
