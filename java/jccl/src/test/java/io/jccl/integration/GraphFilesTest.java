package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.topology.DescribedHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ranks use the channels of {@code JCCL_GRAPH_FILE}, which must be equal on all ranks, and write theirs to
 * {@code JCCL_GRAPH_DUMP_FILE}.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GraphFilesTest {

    private static final int RANKS = 8;

    @TempDir
    Path folder;

    private Path first;
    private Path second;

    /** Writes the topology files of two hosts with four GPUs each. */
    @BeforeEach
    void describe() throws IOException {
        String host = DescribedHosts.text("/io/jccl/search/two-sockets");
        first = Files.writeString(folder.resolve("first.xml"), host);
        for (int rank = 3; rank >= 0; rank--) {
            host = host.replace("rank=\"" + rank + "\"", "rank=\"" + (rank + 4) + "\"");
        }
        second = Files.writeString(folder.resolve("second.xml"), host);
    }

    /**
     * Starts ranks on both hosts.
     *
     * @param graphs returns a rank's graph file; empty for none
     */
    private LocalRanks start(java.util.function.IntFunction<String> graphs, Path dump) {
        return LocalRanks.start(RANKS, rank -> LocalRanks.config()
                .setting("JCCL_HOST_ID", rank < 4 ? "first" : "second")
                .setting("JCCL_TOPO_FILE", (rank < 4 ? first : second).toString())
                .setting("JCCL_GRAPH_FILE", graphs.apply(rank))
                .setting("JCCL_GRAPH_DUMP_FILE", dump.toString())
                .build());
    }

    @Test
    void ranksUseTheChannelsOfTheirOwnDumpAndOfAGivenFile() throws Exception {
        Path found = folder.resolve("found.xml");
        Path again = folder.resolve("again.xml");
        start(rank -> "", found).close();
        start(rank -> found.toString(), again).close();
        assertThat(again).hasSameTextualContentAs(found);
        String other =
                """
                <graphs version="1">
                  <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="5.0" speedinter="5.0" latencyinter="0" typeintra="SYS" typeinter="PHB" samechannels="1">
                    <channel>
                      <net dev="0x1"/>
                      <gpu dev="0x3"/>
                      <gpu dev="0x0"/>
                      <gpu dev="0x1"/>
                      <gpu dev="0x2"/>
                      <net dev="0x1"/>
                    </channel>
                  </graph>
                """;
        Path given = Files.writeString(folder.resolve("given.xml"), other + "</graphs>");
        try (InitLog log = new InitLog();
                LocalRanks ranks = start(rank -> given.toString(), again)) {
            assertThat(Files.readString(again)).startsWith(other);
            assertThat(log.lines())
                    .filteredOn(line -> line.equals("JCCL_GRAPH_FILE=\"" + given + "\": rings given, trees searched"))
                    .hasSize(2); // once on each host
            assertThat(log.lines()).anySatisfy(line -> assertThat(line)
                    .startsWith("host=1 of ranks=[4, 5, 6, 7] network: ")
                    .contains("GPU/7: NET/1 (mlx1)"));
            ranks.run(comm -> {
                try (Arena arena = new Arena(CollectiveCase.arenaBytes(comm.size()))) {
                    for (CollectiveCase one : CollectiveCase.sample(4, comm.size(), 40, true)) {
                        one.check(comm, arena);
                    }
                }
            });
        }
    }

    @Test
    void filesWithDifferentContentsAreRefused() throws Exception {
        Path one = Files.writeString(folder.resolve("one.xml"), "<graphs version='1'/>");
        Path other = Files.writeString(folder.resolve("other.xml"), "<graphs version='1' />");
        assertThatThrownBy(() -> start(rank -> (rank == 5 ? other : one).toString(), folder.resolve("not.xml"))
                        .close())
                .hasStackTraceContaining("JCCL_GRAPH_FILE=\"content ")
                .hasStackTraceContaining("on rank=5: this setting must be the same on all ranks");
        Path copy = Files.copy(one, folder.resolve("copy.xml"));
        start(rank -> (rank == 5 ? copy : one).toString(), folder.resolve("dump.xml"))
                .close();
    }

    @Test
    void invalidFileFailsInitialisationOnAllRanks() throws Exception {
        Path bad = Files.writeString(
                folder.resolve("bad.xml"),
                "<graphs version='1'><graph id='0' pattern='4' nchannels='1'><channel><gpu dev='9'/></channel></graph></graphs>");
        assertThatThrownBy(() ->
                        start(rank -> bad.toString(), folder.resolve("not.xml")).close())
                .hasStackTraceContaining(
                        "JCCL_GRAPH_FILE=\"" + bad + "\" line=1 element=<gpu> dev=\"9\": no rank of this"
                                + " communicator has this GPU here; expected one of [0, 1, 2, 3]");
        assertThatThrownBy(() -> start(rank -> rank == 3 ? bad + "x" : bad.toString(), folder.resolve("not.xml"))
                        .close())
                .hasStackTraceContaining("bad.xmlx\": cannot be read");
    }
}
