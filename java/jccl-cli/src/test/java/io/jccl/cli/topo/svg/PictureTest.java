package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.topo.ChannelGroup;
import io.jccl.cli.topo.Descriptions;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Reports;
import io.jccl.cli.topo.Summary;
import io.jccl.cli.topo.TopologyReport;
import io.jccl.topology.NodeType;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Checks what readers see in the picture of each described host, whatever fonts their viewer has. */
class PictureTest {

    /** Average width of a letter in a wide font, as a part of the font size. */
    private static final double WIDE_LETTER = 0.62;

    private static final double WIDEST_EMPTY_BOX = 110;
    private static final Map<List<Object>, TopologyReport> REPORTS = new HashMap<>();
    private static final Pattern TRANSLATION = Pattern.compile("translate\\((\\S+) (\\S+)\\)");

    /** A text or rectangle and its place on the page. */
    private record Placed(Element element, Box box) {
        String styles() {
            return element.getAttribute("class");
        }
    }

    static List<Path> descriptions() {
        return Descriptions.all();
    }

    private static TopologyReport report(Path description, int hosts) {
        return REPORTS.computeIfAbsent(
                List.of(description, hosts), key -> Reports.of(Descriptions.read(description), hosts));
    }

    private static Element parse(TopologyReport report, Optional<String> hostName) throws Exception {
        String svg = TopoSvg.write(report, hostName);
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(svg)))
                .getDocumentElement();
    }

    private static List<Element> children(Element parent) {
        NodeList nodes = parent.getChildNodes();
        return IntStream.range(0, nodes.getLength())
                .mapToObj(nodes::item)
                .filter(node -> node.getNodeType() == Node.ELEMENT_NODE)
                .map(Element.class::cast)
                .toList();
    }

    private static double number(Element element, String attribute) {
        String value = element.getAttribute(attribute);
        return value.isEmpty() ? 0 : Double.parseDouble(value);
    }

    private static void place(Element element, double x, double y, List<Placed> placed) {
        double left = x;
        double top = y;
        Matcher translation = TRANSLATION.matcher(element.getAttribute("transform"));
        if (translation.matches()) {
            left += Double.parseDouble(translation.group(1));
            top += Double.parseDouble(translation.group(2));
        }
        switch (element.getTagName()) {
            case "rect" -> placed.add(new Placed(
                    element,
                    new Box(
                            left + number(element, "x"),
                            top + number(element, "y"),
                            number(element, "width"),
                            number(element, "height"))));
            case "text" -> placed.add(new Placed(element, extent(element, left, top)));
            default -> {
                for (Element child : children(element)) {
                    place(child, left, top, placed);
                }
            }
        }
    }

    /** Returns the area that a text covers in a wide font: from the top of its small letters down to its baseline. */
    private static Box extent(Element text, double left, double top) {
        String[] styles = text.getAttribute("class").split(" ");
        double size = TextStyle.valueOf(styles[0].toUpperCase(Locale.ROOT)).size();
        double width = text.hasAttribute("textLength")
                ? number(text, "textLength")
                : text.getTextContent().length() * size * WIDE_LETTER;
        double x = left + number(text, "x") - (styles.length > 1 ? width / 2 : 0);
        return new Box(x, top + number(text, "y") - size / 2, width, size / 2);
    }

    private static List<Placed> placed(Element picture) {
        List<Placed> placed = new ArrayList<>();
        place(picture, 0, 0, placed);
        return placed;
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void textStaysOnThePageAndInItsBox(Path description) throws Exception {
        for (int hosts : new int[] {1, 2}) {
            Element picture = parse(report(description, hosts), Optional.empty());
            Box page = new Box(0, 0, number(picture, "width"), number(picture, "height"));
            List<Placed> all = placed(picture);
            List<Placed> boxes = all.stream()
                    .filter(one -> one.element.getTagName().equals("rect"))
                    .filter(one -> one.styles().matches("fill-\\w+ edge-\\w+|page plain|frame link-\\w+|page"))
                    .filter(one -> one.element.hasAttribute("rx"))
                    .toList();
            List<Placed> texts = all.stream()
                    .filter(one -> one.element.getTagName().equals("text"))
                    .toList();
            assertThat(texts).isNotEmpty().allSatisfy(text -> {
                String content = text.element.getTextContent();
                assertThat(page.contains(text.box))
                        .as("%s on %s", text.box, content)
                        .isTrue();
                if (text.styles().matches("(name|small|channel)( middle)?") && !content.startsWith("+")) {
                    assertThat(boxes).as("%s: %s", content, text.box).anyMatch(box -> box.box.contains(text.box));
                }
            });
        }
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void nodesWithoutDevicesAreNarrow(Path description) {
        TopologyReport report = report(description, 2);
        HostView host = HostView.of(report);
        Layout layout = TopoSvg.layout(report, host, Summary.channelGroups(report));
        for (String node : host.names()) {
            NodeType type = host.type(node);
            if ((type == NodeType.CPU || type == NodeType.PCI)
                    && host.children(node).isEmpty()) {
                assertThat(layout.box(node).width()).as(node).isLessThanOrEqualTo(WIDEST_EMPTY_BOX);
            }
        }
    }

    @Test
    void aNumaNodeWithoutDevicesTakesLittleSpace() {
        String gpu = "<pci busid=\"0000:11:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\" rank=\"0\"/></pci>";
        TopologyReport report = Reports.of(
                "<system version=\"1\"><cpu numaid=\"0\">" + gpu + "<host rank=\"1\"/><host rank=\"2\"/></cpu>"
                        + "<cpu numaid=\"1\"/><cpu numaid=\"2\"/></system>",
                1);
        HostView host = HostView.of(report);
        Layout layout = TopoSvg.layout(report, host, Summary.channelGroups(report));
        Box full = layout.frames().get("CPU/0");
        for (String node : List.of("CPU/1", "CPU/2")) {
            assertThat(host.children(node)).isEmpty();
            assertThat(layout.box(node).width()).isLessThanOrEqualTo(WIDEST_EMPTY_BOX);
            assertThat(layout.box(node).height()).isEqualTo(layout.labels().height(node));
            assertThat(layout.frames().get(node).width()).isLessThan(full.width() / 2);
            assertThat(layout.frames().get(node).height()).isLessThan(full.height() / 2);
        }
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void everyRouteShowsTheNumbersOfItsChannels(Path description) throws Exception {
        TopologyReport report = report(description, 2);
        List<List<ChannelGroup>> graphs =
                List.copyOf(Summary.channelGroups(report).values());
        List<Element> panels = children(parse(report, Optional.empty())).stream()
                .filter(element -> children(element).stream().anyMatch(child -> child.hasAttribute("data-group")))
                .toList();
        assertThat(TopoSvg.layout(report, HostView.of(report), Summary.channelGroups(report))
                        .routes())
                .filteredOn(lanes -> !lanes.traces().isEmpty())
                .hasSameSizeAs(panels);
        for (int panel = 0; panel < panels.size(); panel++) {
            List<Element> elements = children(panels.get(panel));
            for (Element route : elements) {
                if (route.hasAttribute("data-group") && !children(route).isEmpty()) {
                    int number = Integer.parseInt(route.getAttribute("data-group"));
                    String channels = Marks.text(graphs.get(panel).get(number));
                    assertThat(elements)
                            .as("route %d of channels %s", number, channels)
                            .anyMatch(mark -> mark.getAttribute("data-channels").equals(channels)
                                    && mark.getAttribute("class").equals(Theme.route(number))
                                    && mark.getTextContent().strip().equals(channels));
                }
            }
        }
    }

    @Test
    void theLegendOfChannelsHasTheirNumbers() throws Exception {
        TopologyReport report = Reports.of(Reports.host(2, 2, 2, Reports.Fabric.MESH), 1);
        Element picture = parse(Reports.withRandomChannels(report, 20, false, 1), Optional.empty());
        List<String> rows = children(picture).stream()
                .filter(element -> element.hasAttribute("data-channels"))
                .map(element -> element.getAttribute("data-channels"))
                .toList();
        List<String> drawn = IntStream.range(0, 32)
                .mapToObj(row -> Integer.toString(row % 16))
                .toList();
        assertThat(rows).isEqualTo(drawn);
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void theTitleNamesTheHostAndNoPath(Path description) throws Exception {
        Element picture = parse(report(description, 1), Optional.of("node17"));
        List<String> titles = children(picture).stream()
                .filter(element -> element.getTagName().equals("title")
                        || element.getAttribute("class").equals("title"))
                .map(Element::getTextContent)
                .toList();
        assertThat(titles)
                .hasSizeGreaterThan(1)
                .allSatisfy(title -> assertThat(title).isNotEmpty().doesNotContain("/", ".xml"));
        assertThat(titles.get(0)).contains("NUMA node").endsWith(" – host node17");
    }

    @Test
    void allColoursAreInTheStyleSheetWhichHasDarkOnesForDarkPages() {
        TopologyReport report = Reports.of(Reports.host(2, 2, 2, Reports.Fabric.SWITCH), 3);
        String svg = TopoSvg.write(report, Optional.empty());
        assertThat(svg).doesNotContainPattern("(fill|stroke)=\"(#|rgb|hsl)");
        String style = Theme.style();
        int dark = style.indexOf("@media (prefers-color-scheme: dark) {");
        assertThat(style.substring(0, dark)).contains(Palette.LIGHT.rules());
        assertThat(style.substring(dark)).contains(Palette.DARK.rules());
        assertThat(style.chars().filter(letter -> letter == '{').count())
                .isEqualTo(style.chars().filter(letter -> letter == '}').count());
        Matcher used = Pattern.compile(" class=\"([^\"]+)\"").matcher(svg);
        while (used.find()) {
            for (String name : used.group(1).split(" ")) {
                assertThat(style).containsPattern("\\." + name + "[ ,.]");
            }
        }
    }
}
