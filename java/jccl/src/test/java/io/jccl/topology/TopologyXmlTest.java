package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

class TopologyXmlTest {

    static final List<String> NAMES = DescribedHosts.NAMES;

    @ParameterizedTest
    @FieldSource("NAMES")
    void writesWhatItReadsLetterByLetter(String name) {
        String text = DescribedHosts.text(name);
        assertThat(TopologyXmlWriter.write(TopologyXmlReader.read(text))).isEqualTo(text);
    }

    @Test
    void hostsOfTheSharedMaterialAreReadAsTheyWereWritten() throws IOException {
        Optional<Path> folder = SharedMaterial.find("topologies");
        assumeTrue(folder.isPresent(), "no host descriptions next to the project");
        List<Path> files;
        try (Stream<Path> list = Files.list(folder.get())) {
            files = list.filter(file -> file.toString().endsWith(".xml")).toList();
        }
        assertThat(files).hasSizeGreaterThanOrEqualTo(46);
        for (Path file : files) {
            XmlElement read = TopologyXmlReader.read(file);
            XmlElement again = TopologyXmlReader.read(TopologyXmlWriter.write(read));
            assertThat(again).as(file.getFileName().toString()).isEqualTo(read);
            assertThat(NodePaths.compute(GraphBuilder.build(read)).topology().endpoints())
                    .as(file.getFileName().toString())
                    .isNotEmpty();
        }
    }

    /** {@link TopologyXmlFuzzTest} damages only elements and attributes that these hosts have. */
    @Test
    void theDescribedHostsHaveEveryElementAndAttribute() {
        Map<ElementType, Set<String>> seen = new EnumMap<>(ElementType.class);
        for (String name : NAMES) {
            collect(TopologyXmlReader.read(DescribedHosts.text(name)), seen);
        }
        for (ElementType type : ElementType.values()) {
            assertThat(seen.getOrDefault(type, Set.of())).as(type.tag()).containsAll(type.attributeNames());
        }
    }

    private static void collect(XmlElement element, Map<ElementType, Set<String>> seen) {
        seen.computeIfAbsent(element.type(), type -> new HashSet<>())
                .addAll(element.attributes().keySet());
        element.children().forEach(child -> collect(child, seen));
        element.unknown().forEach(child -> collect(child, seen));
    }

    @Test
    void keepsCharactersThatXmlTreatsSpecially() {
        String value = "a<b>&\"'\t\n c";
        XmlElement cpu = new XmlElement(ElementType.CPU, Map.of("numaid", "0", "vendor", value), List.of(), 0);
        XmlElement system = new XmlElement(ElementType.SYSTEM, Map.of("version", "1"), List.of(cpu), 0);
        XmlElement read = TopologyXmlReader.read(TopologyXmlWriter.write(system));
        assertThat(read.children().get(0).text("vendor")).contains(value);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "<system version='1'>\\n<cpu/></system> | line=2 element=<cpu> attribute=numaid: missing",
                "<system version='x'/> | line=1 element=<system> version=\"x\": expected a whole number",
                "<system version='1'>\\n\\n<cpu numaid='0' arch='' familyid='red'/></system> | line=3 element=<cpu> familyid=\"red\": expected",
                "<system version='1'><cpu numaid='0'><nic><net dev='0' net='2'/></nic></cpu></system> | element=<net> net=\"2\": expected 0 or 1",
                "<system version='1'><cpu numaid='0'><nic><net dev='0' gin='x'/></nic></cpu></system> | element=<net> gin=\"x\": expected a whole number",
                "<system version='1'><cpu numaid='0'><pci busid='zz'/></cpu></system> | busid=\"zz\": expected a bus id",
                "<system version='1'><cpu numaid='0'><net dev='0'/></cpu></system> | element=<net>: not allowed in <cpu>",
                "<grid/> | element=<grid>: expected <system> as the outermost element",
                "<system version='1'><grid><a:b xmlns:a='u'/></grid></system> | name spaces are refused",
                "<system version='1'><grid>words</grid></system> | text=\"words\" between elements",
                "<cpu numaid='0'/> | expected <system> as the outermost element",
                "<graphs version='1'/> | as the outermost element, and only there; a file of graphs is for JCCL_GRAPH_FILE",
                "<topology version='2.0'/> | and only there; hwloc's files have another form",
                "<system version='1'><system version='1'/></system> | expected <system> as the outermost element",
                "<system version='1'>words</system> | text=\"words\" between elements",
                "<system version='1'> | no well-formed XML",
                "<system version='1' version='1'/> | no well-formed XML",
                "<?xml-stylesheet href='x'?><system version='1'/> | processing instructions are refused",
                "<system version='1'>&unknown;</system> | topology=text line=1",
                "<system version='1'>\\n<cpu\\n\\nnumaid='0'\\narch='x'\\nmodelid='red'/></system> | line=2 element=<cpu> modelid=\"red\": expected",
                "<system version='1' xmlns='u'/> | line=1 element=<system>: name spaces are refused",
                "<system version='1' xmlns:a='u'/> | line=1 element=<system>: name spaces are refused",
                "<system version='1' xml:version='2'/> | element=<system> attribute=version: name spaces are refused",
                "<x:system version='1'/> | no well-formed XML",
                "<system version='1'><cpu numaid='0'><pci busid='0000:01:00.0'><gpu nop2p='0000:02:00.0,0000:03:00.0'/></pci></cpu></system> | expected bus ids such as",
                "<system version='1'><cpu numaid='99999999999'/></system> | numaid=\"99999999999\": expected a whole number",
            })
    void namesTheLineAndWhatWasExpected(String xml, String expected) {
        assertThatThrownBy(() -> TopologyXmlReader.read(xml.replace("\\n", "\n")))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining(expected);
    }

    /**
     * NCCL 2.28 and later write net elements like these. A device with {@code net="0"} serves GPUs only, or is part of
     * another device.
     */
    @Test
    void aNetElementIsANetworkDeviceUnlessItSaysOtherwise() {
        String text =
                """
                <system version="2">
                  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                    <nic>
                      <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1" net="1" gin="1" rma="1" keep="1"/>
                      <net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x2" maxconn="131072" gdr="1" net="0" gin="1"/>
                      <net name="mlx5_2" dev="2" speed="400000" port="1" guid="0x3" maxconn="131072" gdr="1"/>
                    </nic>
                  </cpu>
                </system>
                """;
        XmlElement system = TopologyXmlReader.read(text);
        Topology topology = GraphBuilder.build(system);
        assertThat(topology.find("NET/0")).isPresent();
        assertThat(topology.find("NET/1")).isEmpty();
        assertThat(topology.find("NET/2")).isPresent();
        assertThat(TopologyXmlWriter.write(system)).isEqualTo(text);
    }

    private static final String LATER =
            """
            <system version="3" schema="b">
              <cpu numaid="0" arch="x86_64" clusters="2">
                <pci busid="0000:01:00.0" class="0x030200" domain="7">
                  <gpu dev="0" sm="90" tensor="1">
                    <fabric speed="9">
                      <gpu colour="red"/>
                    </fabric>
                  </gpu>
                </pci>
                <nic>
                  <net name="a" dev="0" rdma="1"/>
                  <net name="b" dev="1" rdma="0"/>
                </nic>
                <numa a="&lt;"/>
              </cpu>
              <fabric id="4"/>
            </system>
            """;

    @Test
    void unknownElementsAndAttributesAreKeptForWriting() {
        XmlElement system = TopologyXmlReader.read(LATER);
        assertThat(TopologyXmlWriter.write(system)).isEqualTo(LATER);
        assertThat(TopologyXmlReader.read(LATER)).isEqualTo(system).hasSameHashCodeAs(system);
        assertThat(TopologyXmlReader.read(LATER.replace("speed=\"9\"", "speed=\"8\"")))
                .isNotEqualTo(system);
        assertThat(GraphBuilder.build(system).find("NET/1")).isPresent();
    }

    @Test
    void unknownElementsAndAttributesStayWhenTheHostAndRanksAreAdded() {
        XmlElement found = TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0' vendor='GenuineIntel'>"
                        + "<pci busid='0000:01:00.0' class='0x030200' link_width='16'><gpu dev='0' sm='90'/></pci></cpu></system>");
        XmlElement merged = DescriptionMerge.merge(TopologyXmlReader.read(LATER), found);
        XmlElement ranked =
                GpuElements.add(merged, Map.of("0000:01:00.0", List.of(0, 1))).orElseThrow();
        String text = TopologyXmlWriter.write(HostElements.add(ranked, List.of(new HostRank(2, 0))));
        assertThat(text)
                .contains("schema=\"b\"", "clusters=\"2\"", "domain=\"7\"", "tensor=\"1\"", "rdma=\"0\"")
                .contains("<fabric speed=\"9\">", "<gpu colour=\"red\"/>", "<numa a=\"&lt;\"/>", "<fabric id=\"4\"/>")
                .contains("vendor=\"GenuineIntel\"", "rank=\"1\"", "<host rank=\"2\"");
    }

    @Test
    void oneWarningNamesAllUnknownElementsAndAttributes(@TempDir Path directory) throws IOException {
        Path later = Files.writeString(directory.resolve("later.xml"), LATER);
        Path known = Files.writeString(directory.resolve("known.xml"), DescribedHosts.text("gpu4-nvswitch"));
        Logger logger = (Logger) LoggerFactory.getLogger(UnknownNames.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        try {
            for (int rank = 0; rank < 4; rank++) {
                TopologyXmlReader.read(later);
                TopologyXmlReader.read(known);
            }
        } finally {
            logger.detachAppender(log);
        }
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage, ILoggingEvent::getLevel)
                .containsExactly(tuple(
                        "topology=" + later
                                + " attributes=[cpu.clusters, gpu.tensor, net.rdma, pci.domain, system.schema]"
                                + " elements=[fabric, numa]: unknown; they are kept for writing and not used. Correct what is"
                                + " misspelt",
                        Level.WARN));
    }

    /** A cloud's file tells at which switch a device is, and leaves the rest to the host. */
    @ParameterizedTest
    @ValueSource(strings = {"link_speed='' link_width='0'", "link_speed=''", "link_width='0'", ""})
    void filesOfCloudsWithoutGpusAndLinkSpeedsAreRead(String link) {
        XmlElement template = TopologyXmlReader.read("<system version='1'><cpu numaid='0' affinity='ff' arch='x86_64'"
                + " vendor='AuthenticAMD' familyid='23' modelid='49'><pci busid='ffff:ff:01.0' class='0x060400' " + link
                + "><pci busid='0001:00:00.0' class='0x030200' " + link
                + "/><pci busid='0101:00:00.0' class='0x020700' "
                + link + "/></pci></cpu></system>");
        assertThat(TopologyXmlReader.read(TopologyXmlWriter.write(template))).isEqualTo(template);
        assertThat(GraphBuilder.build(template).find("PCI/ffff:ff:01.0")).isPresent();
        Topology ranked = GraphBuilder.build(HostElements.add(template, List.of(new HostRank(0, 0))));
        assertThat(NodePaths.compute(ranked).topology().endpoints()).hasSize(1);
    }

    @Test
    void readsTheBusIdThatOldLibrariesCutShort() {
        XmlElement system = TopologyXmlReader.read("<system version='1'><cpu numaid='0'><pci busid='0000:01:00.0'><gpu>"
                + "<nvlink target='fffffff:ffff:ff' count='12' tclass='0x068000'/></gpu></pci></cpu></system>");
        assertThat(GraphBuilder.build(system).find("NVS/0")).isPresent();
    }

    @Test
    void refusesEntitiesWithoutTouchingWhatTheyName() {
        String bomb = "<!DOCTYPE system [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>"
                + "<!ENTITY f SYSTEM 'file:///etc/hostname'>]><system version='&b;'/>";
        assertThatThrownBy(() -> TopologyXmlReader.read(bomb))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("document type declarations are refused");
    }

    @Test
    void refusesDeepNesting() {
        String open = "<pci busid=\"0000:00:00.0\">";
        String xml = "<system version=\"1\"><cpu numaid=\"0\">" + open.repeat(100_000);
        assertThatThrownBy(() -> TopologyXmlReader.read(xml))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("nested more than 48 deep");
    }

    @Test
    void refusesMoreElementsThanAHostHas() {
        String xml = "<system version=\"1\">" + "<cpu numaid=\"0\"/>".repeat(70_000) + "</system>";
        assertThatThrownBy(() -> TopologyXmlReader.read(xml))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("more than 65536 elements");
    }

    @Test
    void refusesMoreNodesThanTablesOfAllPairsCanHold() {
        StringBuilder xml = new StringBuilder("<system version=\"1\">");
        for (int i = 0; i < 300; i++) {
            xml.append("<cpu numaid=\"").append(i).append("\"/>");
        }
        XmlElement system = TopologyXmlReader.read(xml.append("</system>").toString());
        assertThatThrownBy(() -> GraphBuilder.build(system))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("of type=CPU: expected at most 256");
    }

    @Test
    void printsNothingAboutBytesThatAreNoText() {
        PrintStream before = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            byte[] bytes = "<system version=\"1\">\n\u00e9</system>".getBytes(StandardCharsets.ISO_8859_1);
            assertThatThrownBy(() -> TopologyXmlReader.read(new ByteArrayInputStream(bytes), "latin"))
                    .isInstanceOf(TopologyException.class)
                    .hasMessageContaining("topology=latin line=2 byte=21: expected UTF-8 text");
        } finally {
            System.setErr(before);
        }
        assertThat(printed.size()).isZero();
    }

    @Test
    void refusesAFileThatNeverEnds() {
        InputStream endless = new InputStream() {
            @Override
            public int read() {
                return ' ';
            }
        };
        assertThatThrownBy(() -> TopologyXmlReader.read(endless, "endless"))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("topology=endless size: more than");
    }

    @Test
    void refusesNamesGivenTwice() {
        XmlElement twoCpus =
                TopologyXmlReader.read("<system version='1'>\n<cpu numaid='0'/>\n<cpu numaid='0'/></system>");
        assertThatThrownBy(() -> GraphBuilder.build(twoCpus))
                .hasMessageContaining("line=3 element=<cpu> attribute=numaid: a second CPU/0");
        XmlElement twoRanks = TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0'><host rank='1'/>\n<host rank='1'/></cpu></system>");
        assertThatThrownBy(() -> GraphBuilder.build(twoRanks)).hasMessageContaining("line=2 element=<host> rank=\"1\"");
    }
}
