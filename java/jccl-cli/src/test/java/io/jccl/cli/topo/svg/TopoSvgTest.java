package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.topo.HostTree;
import io.jccl.cli.topo.Reports;
import io.jccl.cli.topo.Reports.Fabric;
import io.jccl.cli.topo.TopologyReport;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class TopoSvgTest {

    private static final String HOSTS =
            "<system version=\"1\"><cpu numaid=\"0\"><host rank=\"0\"/><host rank=\"1\"/></cpu></system>";

    private static Document parse(String svg) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
    }

    private static String draw(TopologyReport report) {
        return TopoSvg.write(report, Optional.empty());
    }

    private static List<Element> with(Document document, String attribute) {
        NodeList all = document.getElementsByTagName("*");
        return IntStream.range(0, all.getLength())
                .mapToObj(index -> (Element) all.item(index))
                .filter(element -> element.hasAttribute(attribute))
                .toList();
    }

    private static List<String> names(Document document) {
        return with(document, "data-node").stream()
                .map(element -> element.getAttribute("data-node"))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(Fabric.class)
    void everyNodeIsDrawnOnceInEachPanelAndRoutesFollowDrawnLinks(Fabric fabric) throws Exception {
        TopologyReport report = Reports.of(Reports.host(2, 2, 2, fabric), 2);
        Document svg = parse(draw(Reports.withRandomChannels(report, 5, true, 1)));
        List<String> nodes =
                report.nodes().stream().map(TopologyReport.NodeRow::name).toList();
        // A node is drawn once in the picture of the host, once below the rings, and once below the trees.
        assertThat(names(svg))
                .containsExactlyInAnyOrderElementsOf(
                        Stream.of(nodes, nodes, nodes).flatMap(List::stream).toList());
        Set<Set<String>> links = new HashSet<>();
        with(svg, "data-link")
                .forEach(element ->
                        links.add(Set.of(element.getAttribute("data-link").split(" "))));
        List<Element> routes = with(svg, "data-via");
        assertThat(routes).isNotEmpty();
        for (Element route : routes) {
            String[] via = route.getAttribute("data-via").split(" ");
            for (int i = 0; i + 1 < via.length; i++) {
                assertThat(links).contains(Set.of(via[i], via[i + 1]));
            }
        }
        assertThat(svg.getDocumentElement().getTextContent()).contains("made <up> & \"so\".xml");
    }

    @Test
    void equalReportsGiveEqualPictures() {
        String xml = Reports.host(2, 2, 2, Fabric.MESH);
        TopologyReport one = Reports.withRandomChannels(Reports.of(xml, 2), 6, true, 3);
        TopologyReport other = Reports.withRandomChannels(Reports.of(xml, 2), 6, true, 3);
        assertThat(draw(one)).isEqualTo(draw(other));
    }

    @Test
    void channelsOnOneRouteAreOneLineWithTheirNumber() throws Exception {
        TopologyReport report = Reports.of(Reports.host(1, 1, 2, Fabric.SWITCH), 1);
        String svg = draw(Reports.withRandomChannels(report, 12, false, 1));
        // Two ranks have one ring and one chain, whatever their order.
        assertThat(with(parse(svg), "data-group")).hasSize(2);
        assertThat(svg).contains("12 × 10 = 120 GB/s");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 16, 64, 300})
    void boxesOfTreesOverHostsDoNotOverlapAndUpTo64HostsAreAllShown(int hosts) throws Exception {
        TopologyReport report = Reports.of(HOSTS, hosts);
        for (HostTree tree : HostTree.of(report.plan().orElseThrow())) {
            TreePainter painter = new TreePainter(tree);
            List<Box> chips = new ArrayList<>(painter.chips().values());
            if (hosts <= 64) {
                assertThat(chips).hasSize(hosts);
            } else {
                assertThat(chips).hasSizeBetween(20, 64);
            }
            for (int i = 0; i < chips.size(); i++) {
                assertThat(chips.get(i).x()).isNotNegative();
                assertThat(chips.get(i).right()).isLessThanOrEqualTo(painter.width() + 0.1);
                for (int j = 0; j < i; j++) {
                    assertThat(chips.get(i).overlaps(chips.get(j))).isFalse();
                }
            }
        }
        assertThat(with(parse(draw(report)), "data-machine")).isNotEmpty();
    }

    @Test
    void aSingleHostHasNoTreesOverHostsAndAHostWithoutRanksNoRoutes() throws Exception {
        assertThat(draw(Reports.of(HOSTS, 1))).contains("Ring channels").doesNotContain("trees over");
        String empty = draw(Reports.of("<system version=\"1\"><cpu numaid=\"0\"/></system>", 1));
        assertThat(names(parse(empty))).hasSize(1);
        assertThat(empty).contains("no rank is on this host").doesNotContain("Ring channels");
    }

    @Test
    void manyRanksInHostMemoryTakeLittleWidthEach() throws Exception {
        StringBuilder xml = new StringBuilder("<system version=\"1\"><cpu numaid=\"0\">");
        IntStream.range(0, 64).forEach(rank -> xml.append("<host rank=\"" + rank + "\"/>"));
        Document svg = parse(draw(Reports.of(xml + "</cpu></system>", 1)));
        assertThat(names(svg)).hasSize(3 * 65);
        assertThat(Double.parseDouble(svg.getDocumentElement().getAttribute("width")))
                .isLessThan(64 * 66);
    }

    @Test
    void textOfTheDescriptionCannotBreakThePicture() throws Exception {
        String xml =
                "<system version=\"1\"><cpu numaid=\"0\"><host rank=\"0\"/><nic><net name=\"&lt;b&gt;&amp;&quot;\" "
                        + "dev=\"0\"/></nic></cpu></system>";
        Document svg = parse(draw(Reports.of(xml, 2)));
        assertThat(svg.getDocumentElement().getTextContent()).contains("<b>&\"");
    }
}
