package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.ElementType;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks that write their topology to a file read the same topology from it. */
@Timeout(120)
class TopologyFilesTest {

    @TempDir
    Path folder;

    @Test
    void ranksWriteTheirTopologyAndReadTheSame() throws Exception {
        Path found = folder.resolve("found.xml");
        try (LocalRanks ranks = LocalRanks.start(
                2,
                LocalRanks.config()
                        .setting("JCCL_TOPO_DUMP_FILE", found.toString())
                        .build())) {
            assertThat(ranks.size()).isEqualTo(2);
        }
        XmlElement description = TopologyXmlReader.read(found);
        assertThat(description.children(ElementType.CPU).stream()
                        .mapToInt(cpu -> cpu.children(ElementType.HOST).size())
                        .sum())
                .isEqualTo(2);
        Path again = folder.resolve("again.xml");
        try (LocalRanks ranks = LocalRanks.start(
                2,
                LocalRanks.config()
                        .setting("JCCL_TOPO_FILE", found.toString())
                        .setting("JCCL_TOPO_DUMP_FILE", again.toString())
                        .build())) {
            assertThat(ranks.size()).isEqualTo(2);
        }
        assertThat(again).hasSameTextualContentAs(found);
        assertThat(Files.size(again)).isPositive();
    }
}
