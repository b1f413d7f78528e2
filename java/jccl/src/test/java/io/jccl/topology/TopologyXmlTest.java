package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

class TopologyXmlTest {

    static final List<String> NAMES = Machines.NAMES;

    @ParameterizedTest
    @FieldSource("NAMES")
    void writes_what_it_reads_letter_by_letter(String name) {
        String text = Machines.text(name);
        assertThat(TopologyXmlWriter.write(TopologyXmlReader.read(text))).isEqualTo(text);
    }

    @Test
    void reads_back_every_given_machine_as_it_wrote_it() throws IOException {
        Optional<Path> folder = SharedMaterial.find("topologies");
        assumeTrue(folder.isPresent(), "no machine descriptions beside the project");
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

    /** What no machine of the tests has is not damaged by {@link TopologyXmlFuzzTest} either. */
    @Test
    void the_machines_of_the_tests_have_every_element_and_attribute() {
        Map<ElementType, Set<String>> seen = new EnumMap<>(ElementType.class);
        for (String name : NAMES) {
            collect(TopologyXmlReader.read(Machines.text(name)), seen);
        }
        for (ElementType type : ElementType.values()) {
            assertThat(seen.getOrDefault(type, Set.of())).as(type.tag()).containsAll(type.attributeNames());
        }
    }

    private static void collect(XmlElement element, Map<ElementType, Set<String>> seen) {
        seen.computeIfAbsent(element.type(), type -> new HashSet<>())
                .addAll(element.attributes().keySet());
        element.children().forEach(child -> collect(child, seen));
    }

    @Test
    void keeps_characters_that_xml_treats_specially() {
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
                "<system version='1'>\\n\\n<cpu numaid='0' colour='red'/></system> | line=3 element=<cpu> attribute=colour: unknown",
                "<system version='1'><cpu numaid='0'><pci busid='zz'/></cpu></system> | busid=\"zz\": expected a bus id",
                "<system version='1'><cpu numaid='0'><net dev='0'/></cpu></system> | element=<net>: not allowed in <cpu>",
                "<system version='1'><grid/></system> | element=<grid>: unknown",
                "<cpu numaid='0'/> | expected <system> as the outermost element",
                "<system version='1'><system version='1'/></system> | expected <system> as the outermost element",
                "<system version='1'>words</system> | text=\"words\" between elements",
                "<system version='1'> | no well-formed XML",
                "<system version='1' version='1'/> | no well-formed XML",
                "<?xml-stylesheet href='x'?><system version='1'/> | processing instructions are refused",
                "<system version='1'>&unknown;</system> | topology=text line=1",
                "<system version='1'>\\n<cpu\\n\\nnumaid='0'\\narch='x'\\ncolour='red'/></system> | line=2 element=<cpu> attribute=colour: unknown",
                "<system version='1' xmlns='u'/> | line=1 element=<system>: name spaces are refused",
                "<system version='1' xmlns:a='u'/> | line=1 element=<system>: name spaces are refused",
                "<system version='1' xml:version='2'/> | element=<system> attribute=version: name spaces are refused",
                "<x:system version='1'/> | no well-formed XML",
                "<system version='1'><cpu numaid='0'><pci busid='0000:01:00.0'><gpu nop2p='0000:02:00.0,0000:03:00.0'/></pci></cpu></system> | expected bus ids such as",
                "<system version='1'><cpu numaid='99999999999'/></system> | numaid=\"99999999999\": expected a whole number",
            })
    void names_the_line_and_what_was_expected(String xml, String expected) {
        assertThatThrownBy(() -> TopologyXmlReader.read(xml.replace("\\n", "\n")))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining(expected);
    }

    @Test
    void reads_the_bus_id_that_old_libraries_cut_short() {
        XmlElement system = TopologyXmlReader.read("<system version='1'><cpu numaid='0'><pci busid='0000:01:00.0'><gpu>"
                + "<nvlink target='fffffff:ffff:ff' count='12' tclass='0x068000'/></gpu></pci></cpu></system>");
        assertThat(GraphBuilder.build(system).find("NVS/0")).isPresent();
    }

    @Test
    void refuses_entities_without_touching_what_they_name() {
        String bomb = "<!DOCTYPE system [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>"
                + "<!ENTITY f SYSTEM 'file:///etc/hostname'>]><system version='&b;'/>";
        assertThatThrownBy(() -> TopologyXmlReader.read(bomb))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("document type declarations are refused");
    }

    @Test
    void refuses_deep_nesting() {
        String open = "<pci busid=\"0000:00:00.0\">";
        String xml = "<system version=\"1\"><cpu numaid=\"0\">" + open.repeat(100_000);
        assertThatThrownBy(() -> TopologyXmlReader.read(xml))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("nested more than 48 deep");
    }

    @Test
    void refuses_more_elements_than_a_machine_has() {
        String xml = "<system version=\"1\">" + "<cpu numaid=\"0\"/>".repeat(70_000) + "</system>";
        assertThatThrownBy(() -> TopologyXmlReader.read(xml))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("more than 65536 elements");
    }

    @Test
    void refuses_more_nodes_than_tables_of_all_pairs_can_hold() {
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
    void prints_nothing_about_bytes_that_are_no_text() {
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
    void refuses_a_file_that_never_ends() {
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
    void refuses_names_given_twice() {
        XmlElement twoCpus =
                TopologyXmlReader.read("<system version='1'>\n<cpu numaid='0'/>\n<cpu numaid='0'/></system>");
        assertThatThrownBy(() -> GraphBuilder.build(twoCpus))
                .hasMessageContaining("line=3 element=<cpu> attribute=numaid: a second CPU/0");
        XmlElement twoRanks = TopologyXmlReader.read(
                "<system version='1'><cpu numaid='0'><host rank='1'/>\n<host rank='1'/></cpu></system>");
        assertThatThrownBy(() -> GraphBuilder.build(twoRanks)).hasMessageContaining("line=2 element=<host> rank=\"1\"");
    }
}
