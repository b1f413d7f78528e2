package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests host descriptions that cannot be right: GPUs of AMD are refused, and strange NVLinks cause a remark. */
class DescriptionRemarksTest {

    private static final String LINK = "<nvlink target='%s' count='4' tclass='%s'/>";

    /** Returns a host with one GPU for each given content of a GPU element, on the buses 1, 2 and so on. */
    private static String host(String... gpus) {
        return IntStream.range(0, gpus.length)
                .mapToObj(i -> "<pci busid='" + busId(i + 1) + "' class='0x030200' vendor='0x10de'><gpu dev='" + i
                        + "' rank='" + i + "' sm='90'>" + gpus[i] + "</gpu></pci>")
                .collect(Collectors.joining("", "<system version='1'><cpu numaid='0'>", "</cpu></system>"));
    }

    private static String busId(int bus) {
        return "0000:0" + bus + ":00.0";
    }

    private static String to(int bus) {
        return LINK.formatted(busId(bus), "0x030200");
    }

    private static final String TO_SWITCH = LINK.formatted("fffffff:ff:ff.0", "0x068000");

    private static List<String> remarks(String xml) {
        return NvLinkRemarks.of(TopologyXmlReader.read(xml));
    }

    @Test
    void linksToOtherGpusCauseNoRemark() {
        assertThat(remarks(host(to(2), to(1)))).isEmpty();
        assertThat(remarks(host(TO_SWITCH, TO_SWITCH))).isEmpty();
        assertThat(remarks(host("", ""))).isEmpty();
    }

    @Test
    void aGpuWithoutNvLinkAmongOthersWithSomeIsNamed() {
        assertThat(remarks(host(TO_SWITCH, "<c2c bw='40000' count='10'/>", TO_SWITCH)))
                .singleElement()
                .asString()
                .startsWith(
                        "gpus=[0000:02:00.0]: no NVLink, while [0000:01:00.0, 0000:03:00.0] of the same kind have some");
    }

    @Test
    void aGpuOfAnotherKindMayHaveNoNvLink() {
        assertThat(remarks(host(to(2), to(1), "").replace("rank='2' sm='90'", "rank='2' sm='75'")))
                .isEmpty();
    }

    @Test
    void linksToTheirOwnGpuAreNamedAndIgnored() {
        String xml = host(to(1), to(2));
        assertThat(remarks(xml))
                .singleElement()
                .asString()
                .startsWith("gpus=[0000:01:00.0, 0000:02:00.0]: an NVLink leads from each of them to itself");
        Topology graph = GraphBuilder.build(TopologyXmlReader.read(xml));
        assertThat(graph.links(graph.find("GPU/0").orElseThrow())).noneMatch(link -> link.type() == LinkType.NVL);
    }

    @Test
    void ranksThatShareAGpuAreNotJoinedByItsLinkToItself() {
        String xml = host(to(1)).replace("</gpu>", "</gpu><gpu dev='0' rank='1' sm='90'/>");
        Topology graph = GraphBuilder.build(TopologyXmlReader.read(xml));
        assertThat(graph.links(graph.find("GPU/0").orElseThrow())).noneMatch(link -> link.type() == LinkType.NVL);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<pci busid='0000:c1:00.0' class='0x038000' vendor='0x1002'><gpu dev='0' sm='94' rank='0' gdr='1'/></pci>",
                "<pci busid='0000:c1:00.0'><gpu dev='0' rank='0'><xgmi target='0000:c6:00.0' count='1'/></gpu></pci>",
                "<pci busid='0000:c1:00.0'><gpu dev='0' rank='0' gcn='gfx942'/></pci>",
                "<pci busid='0000:c1:00.0'><gpu dev='0' rank='0' gcn='908'/></pci>",
                "<pci busid='0000:c0:00.0'><pci busid='0000:c1:00.0'><gpu dev='0' rank='0' arch='gfx90a:sramecc+'/></pci></pci>"
            })
    void gpusOfAmdAreRefusedAsNotSupported(String device) {
        String xml = "<system version='1'><cpu numaid='0' vendor='AuthenticAMD'>" + device + "</cpu></system>";
        assertThatThrownBy(() -> TopologyXmlReader.read(xml))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("line=1 element=<gpu>: a GPU of AMD; AMD GPUs are not supported");
    }

    /** Real files, if the shared material is present: each is read, or refused with an error that names the file. */
    @Test
    void realFilesAreReadOrRefusedWithAnError() throws IOException {
        Path folder = SharedMaterial.find("field").orElse(null);
        if (folder == null) {
            return;
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file :
                    files.filter(one -> one.toString().endsWith(".xml")).toList()) {
                if (Files.readString(file).contains("<system")) {
                    GraphBuilder.build(HostElements.withoutRanks(TopologyXmlReader.read(file)));
                } else {
                    assertThatThrownBy(() -> TopologyXmlReader.read(file))
                            .isInstanceOf(TopologyException.class)
                            .hasMessageContaining(file.getFileName().toString());
                }
            }
        }
    }
}
