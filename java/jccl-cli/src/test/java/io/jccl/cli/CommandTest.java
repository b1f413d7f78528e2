package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.CommandProcess.Result;
import io.jccl.cli.topo.Reports;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the exit status, standard output and standard error of the command. */
@Timeout(180)
class CommandTest {

    @TempDir
    Path directory;

    private Result run(String... arguments) throws IOException, InterruptedException {
        return CommandProcess.run(directory, arguments);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "perf all_sum | collective=\"all_sum\": unknown; name one of [all_reduce",
                "perf allReduce | , exscan]; did you mean all_reduce?",
                "perf all_reduce --json - --csv - | csv=- json=-: expected a file of its own for each; name another",
                "perf all_reduce --json a --plot ./a | plot=a json=a: expected a file of its own for each; name another",
                "perf all_reduce --compare a --plot ./a | plot=a compare=a: expected a file of its own for each",
                "perf all_reduce --plot /no/such/x.svg | plot=/no/such/x.svg: expected a file that can be written",
                "perf all_reduce --threads --csv /no/such/x | csv=/no/such/x: expected a file that can be written",
                "perf all_reduce --json /proc | json=/proc: expected a file that can be written",
                "perf all_reduce --compare /no/such/x | baseline=/no/such/x: cannot be read",
                "perf all_reduce --plot x.png | plot=x.png: expected a name that ends in .svg",
                "perf barrier --plot x.svg | plot=x.svg: expected a collective that has sizes",
                "perf all_reduce --backend cuda | backend=cuda memory=direct: a backend works on its own memory; use --memory device",
                "perf all_reduce --mode graph | mode=graph memory=direct: expected memory=device, because only GPUs have",
                "perf all_reduce --mode later | mode=\"later\": unknown; name one of [await, stream, graph]",
                "perf all_reduce --peer mpi | peer=\"mpi\": unknown; expected nccl",
                "perf all_reduce --peer nccl | peer=nccl memory=direct: expected memory=device, because NCCL works on",
                "perf all_reduce --peer-library x | peer-library=x: expected --peer nccl with it",
                "perf all_gather_v --peer nccl --memory device | collective=all_gather_v: NCCL has no such operation",
                "perf all_reduce --peer nccl --memory device -t int32 -o bxor | op=bxor: NCCL has no such operation; expected sum",
                "perf all_reduce --backend host --memory device | backend=host memory=device: a backend works on its own memory",
                "perf all_reduce -r 2 -n 2 | root=2: expected 0 to 1 for ranks=2",
                "perf all_reduce -b 16 -e 8 | min=16 max=8: expected 1 <= min <= max",
                "perf all_reduce --nonsense | Unknown option: '--nonsense'",
                "topo --format pdf | format=\"pdf\": unknown; name one of [text, json, xml, svg, graph]",
                "topo --file a.xml --file b.xml --machines 3 | machines=3 files=2: each file is one host",
                "topo --file a.xml --file b.xml --format svg | files=2 format=svg: shows one host",
                "topo --file a.xml --file b.xml --local-only | files=2 --local-only: a plan over several hosts",
                "run -n 2 --bind socket -- true | bind=\"socket\": unknown; name one of [core, numa, none]",
                "--log-level loud env | log-level=\"loud\": unknown",
                "run -- true | ranks=(not given): set the number of processes with -n N",
                "run --elastic 3:2 -- true | elastic=3:2 restarts=10: expected MIN:MAX with 1 <= MIN <= MAX",
                "run --elastic 0:2 -- true | elastic=0:2 restarts=10: expected MIN:MAX",
                "run --elastic some -- true | elastic=some restarts=10: expected MIN:MAX",
                "run --elastic 2:3 -n 4 -- true | elastic=2:3 ranks=4 restarts=10: expected MIN:MAX",
                "run --elastic 2:3 --restarts -1 -- true | restarts=-1: expected"
            })
    void wrongUsageIsReportedAndEndsWithStatusTwo(String command, String message) {
        Result result = CommandProcess.runHere(command.split(" "));
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains(message).contains("--help");
        assertThat(result.out()).isEmpty();
    }

    @Test
    void helpListsTheSubcommandsAndDescribesEach() {
        Result all = CommandProcess.runHere("help");
        assertThat(all.status()).isZero();
        assertThat(all.out())
                .contains("Usage: jccl", "perf", "topo", "doctor", "jccl COMMAND --help")
                .doesNotContain("tune-rank");
        Result one = CommandProcess.runHere("help", "perf");
        assertThat(one.status()).isZero();
        assertThat(one.out()).contains("Usage: jccl perf", "--iters");
        assertThat(all.err() + one.err()).isEmpty();
        Result none = CommandProcess.runHere("help", "nonsense");
        assertThat(none.status()).isEqualTo(2);
        assertThat(none.err()).contains("nonsense");
    }

    /**
     * If a percent sign is not escaped, picocli warns on standard error and does not replace {@code %n} by line breaks.
     */
    @Test
    void everyHelpTextIsFormatted() {
        for (String command : Main.commandLine().getSubcommands().keySet()) {
            Result help = CommandProcess.runHere(command, "--help");
            assertThat(help.err()).isEmpty();
            assertThat(help.out()).contains("Usage: jccl " + command).doesNotContain("%%", "%n");
        }
    }

    @ParameterizedTest
    @CsvSource({"docter, doctor", "perf_test, perf", "topology, topo"})
    void aSubcommandThatIsMisspeltIsAnsweredWithTheNearest(String given, String nearest) {
        Result result = CommandProcess.runHere(given);
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains("'" + given + "'").containsPattern("Did you mean: .*\\b" + nearest + "\\b");
        assertThat(result.out()).isEmpty();
    }

    @Test
    void versionNamesTheBuildTheNativeLibrariesAndJava() throws IOException, InterruptedException {
        Result result = run("--version");
        assertThat(result.status()).isZero();
        assertThat(result.out())
                .matches("(?s)jccl \\d+\\.\\d+\\.\\d+\\S*\nnative libraries: linux-\\S+ \\(build .*\nJava \\d+.*\n");
        assertThat(result.err()).isEmpty();
    }

    @Test
    void runPrefixesLinesWithTheirRankAndPassesTheEnvironment() throws IOException, InterruptedException {
        Result result = run("run", "-n", "2", "--", "sh", "-c", "echo $JCCL_RANK of $JCCL_SIZE");
        assertThat(result.status()).isZero();
        assertThat(result.out().lines()).containsExactlyInAnyOrder("[0] 0 of 2", "[1] 1 of 2");
    }

    @Test
    void runBindsEachRankToProcessorsOfItsOwn() throws IOException, InterruptedException {
        int processors = Runtime.getRuntime().availableProcessors();
        Result result = run(
                "run",
                "--bind=core",
                "-n",
                Integer.toString(processors),
                "--",
                "sh",
                "-c",
                "echo $JCCL_CPU_AFFINITY = $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)");
        assertThat(result.err()).isEmpty();
        assertThat(result.status()).isZero();
        List<String> bound = result.out()
                .lines()
                .map(line -> line.substring(line.indexOf(' ') + 1))
                .toList();
        assertThat(bound).hasSize(processors).doesNotHaveDuplicates().allMatch(line -> line.matches("(\\d+) = \\1"));
    }

    @Test
    void moreRanksThanProcessorsAreBoundOnlyIfOversubscriptionIsAllowed() throws IOException, InterruptedException {
        ProcessBuilder builder = CommandProcess.builder(
                directory,
                List.of(),
                "run",
                "--bind=core",
                "-n",
                "2",
                "--oversubscribe",
                "--",
                "sh",
                "-c",
                "echo $JCCL_CPU_AFFINITY");
        builder.environment().put("JCCL_CPU_AFFINITY", firstProcessor());
        Process shared = builder.start();
        String out = new String(shared.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(shared.waitFor()).isZero();
        assertThat(out.lines()).containsExactlyInAnyOrder("[0] " + firstProcessor(), "[1] " + firstProcessor());

        Result refused = run("run", "--bind=core", "-n", "9999", "--", "true");
        assertThat(refused.status()).isEqualTo(2);
        assertThat(refused.err()).contains("bind=core ranks=9999: expected at most ", "--oversubscribe");
    }

    private static String firstProcessor() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> line.replaceFirst("\\D+(\\d+).*", "$1"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aRankThatFailsEndsTheOthersAndItsStatusIsThatOfTheCommand() throws IOException, InterruptedException {
        long begin = System.nanoTime();
        Result result = run("run", "-n", "2", "--", "sh", "-c", "[ $JCCL_RANK = 1 ] && exit 7; exec sleep 50");
        assertThat(result.status()).isEqualTo(7);
        assertThat(result.err()).contains("jccl run: rank 1 ended with status 7");
        assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin)).isLessThan(40);
    }

    @Test
    void elasticRunRestartsAFailedProcessWithAnEnvironmentThatMakesItJoin() throws IOException, InterruptedException {
        String script =
                "[ -n \"$JCCL_JOIN\" ] && echo $JCCL_RANK of $JCCL_SIZE joins by $JCCL_JOIN with $JCCL_MEMBER_FILE"
                        + " && exit; [ $JCCL_RANK = 1 ] && sleep 5 && exit; exit 7";
        Result result = run("run", "--elastic", "1:2", "--", "sh", "-c", script);
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.out()).containsPattern("\\[0\\] 0 of 2 joins by file:(/\\S+) with \\1/member-0\n");
        assertThat(result.err())
                .contains("jccl: process 0 ended with status 7; it starts again in 100 ms and joins, restart 1 of 10;"
                        + " 1 of 2 processes live");
    }

    @Test
    void aProgramThatDoesNotExistIsNamed() throws IOException, InterruptedException {
        Result result = run("run", "-n", "2", "--", "/no/such/program");
        assertThat(result.status()).isEqualTo(127);
        assertThat(result.err()).contains("command=\"/no/such/program\" cannot be started");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "all_reduce -n 2",
                "all_reduce -n 2 --threads",
                "send_recv -n 2",
                "gather -n 2 --threads",
                "barrier -n 2",
                "all_gather_v -n 3 --threads",
                "reduce_scatter_v -n 3 --threads",
                "all_to_all_v -n 3 --threads",
                "gather_v -n 3 --threads -r 1",
                "scatter_v -n 3 --threads -r 2 --memory heap",
                "all_reduce -n 3 --threads -t uint32 -o bxor",
                "all_to_all_v -n 2 --memory heap",
                "all_gather_v -n 3 --threads --memory shared"
            })
    void perfChecksAndPrintsATable(String run) throws IOException, InterruptedException {
        String[] arguments = ("perf " + run + " -b 4 -e 64 --iters 5 --warmup 1 --check").split(" ");
        Result result = run.contains(" --threads") ? CommandProcess.runHere(arguments) : run(arguments);
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.out()).contains("out-of-place").contains("# wrong elements: 0");
    }

    @Test
    void perfHeaderNamesVersionDateHostRanksAndSettings() {
        Result result = CommandProcess.runHere(
                "perf", "all_reduce", "-n", "3", "--threads", "-e", "8", "--iters", "2", "--algorithm", "tree");
        assertThat(result.status()).as(result.err()).isZero();
        String header = result.out().substring(0, result.out().indexOf("out-of-place"));
        assertThat(header.lines()).allMatch(line -> line.startsWith("#"));
        assertThat(header)
                .containsPattern(
                        "# JCCL \\S+ \\(build \\S+\\), Java " + Pattern.quote(System.getProperty("java.version"))
                                + ".*, 20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ\n")
                .containsPattern("# host \\S+: Linux \\S+, .+, \\d+ cores?\n")
                .containsPattern("# 3 ranks as threads of one process on 1 host \\(\\S+\\)\n")
                .containsPattern("# settings: JCCL_ALGO=tree[ \n]") // the host may have further settings
                .contains("busbw: algbw x 1.33");
    }

    @Test
    void perfWritesCsvWithAHeaderAndALineForEachSize() throws IOException, InterruptedException {
        Result result = run(
                "perf", "all_to_all", "-n", "2", "-b", "8", "-e", "32", "--iters", "2", "--warmup", "1", "--csv", "-");
        assertThat(result.status()).as(result.err()).isZero();
        List<String> lines = List.of(result.out().split("\r\n"));
        assertThat(lines).hasSize(4);
        assertThat(lines.get(0)).startsWith("collective,backend,transport,ranks,bytes,count,type,op,root,");
        assertThat(lines.get(1)).startsWith("all_to_all,host,shm,2,8,1,float32,none,-1,");
        assertThat(result.out()).doesNotContain("#");
    }

    @Test
    void perfDrawsThisRunOverAnEarlierOne() throws IOException {
        Path earlier = directory.resolve("earlier.json");
        Path plot = directory.resolve("plot.svg");
        String[] measure = {
            "perf", "all_reduce", "-n", "2", "--threads", "-e", "64", "--iters", "2", "--warmup", "1", "--json"
        };
        assertThat(CommandProcess.runHere(with(measure, earlier.toString())).status())
                .isZero();
        Result result = CommandProcess.runHere(with(
                measure,
                directory.resolve("now.json").toString(),
                "--compare",
                earlier.toString(),
                "--tolerance",
                "1000000",
                "--plot",
                plot.toString()));
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(Files.readString(plot))
                .contains("data-panel=\"bandwidth\" data-run=\"this run, 20", "data-run=\"earlier.json, 20");
        assertThat(result.out()).contains("# compared with " + earlier + ": ");
    }

    @ParameterizedTest
    @CsvSource({"--json, json", "--csv, csv", "--plot, plot"})
    void aFullDiskIsReportedAsAFailure(String option, String name) {
        Result result = CommandProcess.runHere(
                "perf",
                "all_reduce",
                "-n",
                "2",
                "--threads",
                "-e",
                "8",
                "--iters",
                "1",
                "--warmup",
                "1",
                option,
                "/dev/full");
        assertThat(result.status()).isEqualTo(1);
        assertThat(result.err())
                .contains(name + "=/dev/full: cannot be written (No space left on device; the file system is full;")
                .contains("); name another with " + option)
                .doesNotContain("Exception");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"topo -n 2 --json", "env", "perf all_reduce -n 2 --threads -e 8 --iters 1 --warmup 1 --csv -"})
    void aStandardOutputThatCannotBeWrittenIsAFailure(String command) throws IOException, InterruptedException {
        Process process = CommandProcess.builder(directory, List.of(), command.split(" "))
                .redirectOutput(new File("/dev/full"))
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(1);
        assertThat(Files.readString(directory.resolve("err"))).contains("standard output cannot be written");
    }

    @Test
    void aReaderThatClosesThePipeIsNotReported() throws IOException, InterruptedException {
        Process process = CommandProcess.builder(directory, List.of(), "env").start();
        process.getInputStream().close();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readString(directory.resolve("err"))).isEmpty();
    }

    @Test
    void graphsOfAFileReplaceTheSearchedOnes() throws IOException, InterruptedException {
        Path host = Files.writeString(directory.resolve("host.xml"), Reports.host(1, 2, 2, Reports.Fabric.PCI));
        String[] command = {"topo", "--file", host.toString(), "--machines", "2", "--format", "graph"};
        Result written = CommandProcess.runHere(command);
        assertThat(written.status()).as(written.err()).isZero();
        assertThat(written.out()).startsWith("<graphs version=\"1\">").contains("<gpu dev=\"0x3\"/>");
        String speeds = "speedintra=\"[^\"]*\" speedinter=\"[^\"]*\"";
        String other = written.out()
                .replace("dev=\"0x2\"", "dev=\"2\"")
                .replaceFirst(speeds, "speedintra=\"1.5\" speedinter=\"1.5\"");
        Path file = Files.writeString(directory.resolve("graphs.xml"), other);
        Result taken = CommandProcess.run(directory, Map.of("NCCL_GRAPH_FILE", file.toString()), command);
        assertThat(taken.status()).as(taken.err()).isZero();
        assertThat(taken.out()).isEqualTo(written.out().replaceFirst(speeds, "speedintra=\"1.5\" speedinter=\"1.5\""));
        Files.writeString(file, other.replaceFirst("<gpu dev=\"2\"/>", "<gpu dev=\"4\"/>"));
        Result searched = CommandProcess.run(directory, Map.of("NCCL_GRAPH_FILE", file.toString()), command);
        assertThat(searched.out()).isEqualTo(written.out());
        assertThat(searched.err())
                .contains("dev=\"4\": no rank of this communicator has this GPU here")
                .contains("The file is ignored, and channels are searched instead");
        Result refused = CommandProcess.run(directory, Map.of("JCCL_GRAPH_FILE", file.toString()), command);
        assertThat(refused.status()).isEqualTo(2);
        assertThat(refused.err()).contains("dev=\"4\": no rank of this communicator has this GPU here");
        Result noGpus = CommandProcess.runHere("topo", "-n", "2", "--format", "graph");
        assertThat(noGpus.status()).isEqualTo(2);
        assertThat(noGpus.err()).contains("HOST/0: graphs are written of GPUs with a known dev");
    }

    @Test
    void aTopologyWithAmdGpusIsReportedAsNotSupported() throws IOException, InterruptedException {
        Path host = Files.writeString(
                directory.resolve("amd.xml"),
                "<system version='1'><cpu numaid='0'><pci busid='0000:c1:00.0' class='0x038000' vendor='0x1002'>"
                        + "<gpu dev='0' sm='94' rank='0' gdr='1' gcn='gfx942'><xgmi target='0000:c6:00.0' count='1'/></gpu>"
                        + "</pci></cpu></system>");
        Result refused = run("topo", "--file", host.toString());
        assertThat(refused.status()).isEqualTo(2);
        assertThat(refused.err()).contains("AMD GPUs are not supported").doesNotContain("misspelt");
    }

    @Test
    void picturesAreUtf8InEveryLocale() throws IOException, InterruptedException {
        ProcessBuilder builder = CommandProcess.builder(directory, List.of(), "topo", "-n", "2", "--format", "svg");
        builder.environment().put("LC_ALL", "C");
        Process process = builder.start();
        byte[] svg = process.getInputStream().readAllBytes();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String text =
                StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(svg)).toString();
        assertThat(text).contains("–").doesNotContain("?");
    }

    private static String[] with(String[] arguments, String... more) {
        return Stream.concat(Stream.of(arguments), Stream.of(more)).toArray(String[]::new);
    }

    @Test
    void aSlowerRunEndsWithStatusThree() throws IOException, InterruptedException {
        Path baseline = directory.resolve("base.json");
        String[] measure = {
            "perf", "all_reduce", "-n", "2", "-e", "8", "--iters", "5", "--warmup", "1", "--json", baseline.toString()
        };
        assertThat(run(measure).status()).isZero();
        String fast = Files.readString(baseline).replaceAll("\"p50_us\":[0-9.E-]+", "\"p50_us\":0.0001");
        Files.writeString(baseline, fast);
        Result result = run(
                "perf",
                "all_reduce",
                "-n",
                "2",
                "-e",
                "8",
                "--iters",
                "5",
                "--warmup",
                "1",
                "--compare",
                baseline.toString());
        assertThat(result.status()).isEqualTo(3);
        assertThat(result.err()).contains("regression: all_reduce bytes=8 out of place");
    }
}
