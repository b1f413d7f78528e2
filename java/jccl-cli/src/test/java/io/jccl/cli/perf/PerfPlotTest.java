package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Execution;
import io.jccl.Protocol;
import io.jccl.cli.output.ColourVision;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class PerfPlotTest {

    /**
     * Assumed width of a letter, relative to the font size: larger than the average of common fonts, including
     * monospaced fonts.
     */
    private static final double LETTER = 0.65;

    @TempDir
    Path directory;

    private static PerfRow row(long bytes, double us, String transport) {
        PerfRow.Side side = PerfRow.Side.of(new Stopwatch.Times(us, us, us), bytes, 1.5, 0L);
        Execution ring = new Execution(Algorithm.RING, Protocol.SIMPLE, 1);
        return new PerfRow(
                "all_reduce",
                "host",
                transport,
                4,
                bytes,
                bytes / 4,
                "float32",
                "sum",
                -1,
                ring,
                side,
                side,
                Optional.empty());
    }

    private static List<PerfRow> rows(double factor, String transport) {
        return IntStream.rangeClosed(3, 26)
                .mapToObj(power -> row(1L << power, factor * (1.5 + (1L << power) / 4e3), transport))
                .toList();
    }

    private EarlierRun earlier(String name, List<PerfRow> rows) throws IOException {
        String lines = String.join(
                "\n", rows.stream().map(row -> row.toJson(RunInfos.SAMPLE)).toList());
        return EarlierRun.read(Files.writeString(directory.resolve(name), lines));
    }

    private static Document draw(List<Curve> curves, String title) throws Exception {
        String svg =
                PerfPlot.draw(title, List.of("float32 sum, backend host, transport shm", "JCCL <&\"> 1.2.0"), curves);
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
    }

    private static List<Element> elements(Document svg, String name) {
        NodeList all = svg.getElementsByTagName(name);
        return IntStream.range(0, all.getLength())
                .mapToObj(index -> (Element) all.item(index))
                .toList();
    }

    private static double number(Element element, String attribute) {
        return Double.parseDouble(element.getAttribute(attribute));
    }

    private static void assertTextsAreInside(Document svg) {
        double width = number(svg.getDocumentElement(), "width");
        double height = number(svg.getDocumentElement(), "height");
        assertThat(svg.getDocumentElement().getAttribute("viewBox"))
                .isEqualTo("0 0 " + svg.getDocumentElement().getAttribute("width") + " "
                        + svg.getDocumentElement().getAttribute("height"));
        List<Element> texts = elements(svg, "text");
        assertThat(texts).hasSizeGreaterThan(10);
        for (Element text : texts) {
            double x = number(text, "x");
            double y = number(text, "y");
            String transform = ((Element) text.getParentNode()).getAttribute("transform");
            if (!transform.isEmpty()) {
                String[] by = transform.replaceAll("[a-z()]", "").split(" ");
                x += Double.parseDouble(by[0]);
                y += Double.parseDouble(by[1]);
            }
            double size = number(text, "font-size");
            double length = text.getTextContent().length() * size * LETTER;
            double left =
                    switch (text.getAttribute("text-anchor")) {
                        case "middle" -> x - length / 2;
                        case "end" -> x - length;
                        default -> x;
                    };
            assertThat(left).as(text.getTextContent()).isNotNegative();
            assertThat(left + length).as(text.getTextContent()).isLessThanOrEqualTo(width);
            assertThat(y - size).as(text.getTextContent()).isNotNegative();
            assertThat(y + size / 3).as(text.getTextContent()).isLessThanOrEqualTo(height);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 12})
    void everyRunHasItsCurveInBothPanelsAndItsNameBelow(int earlierRuns) throws Exception {
        List<EarlierRun> earlier = new ArrayList<>();
        for (int i = 0; i < earlierRuns; i++) {
            earlier.add(earlier("a-rather-long-name-of-a-file-number-" + i + ".json", rows(1.2 + i, "socket")));
        }
        List<Curve> curves = Curve.of(RunInfos.SAMPLE, rows(1, "shm"), earlier);
        Document svg = draw(curves, "all_reduce, 4 ranks as processes on 2 hosts (node1, node2)");
        assertTextsAreInside(svg);
        for (String panel : List.of("bandwidth", "time")) {
            List<Element> groups = elements(svg, "g").stream()
                    .filter(group -> group.getAttribute("data-panel").equals(panel))
                    .toList();
            assertThat(groups)
                    .extracting(group -> group.getAttribute("data-run"))
                    .containsExactlyInAnyOrderElementsOf(
                            curves.stream().map(Curve::label).toList());
            for (Element group : groups) {
                Element line = (Element) group.getElementsByTagName("polyline").item(0);
                assertThat(line.getAttribute("points").split(" ")).hasSize(24).allSatisfy(point -> {
                    String[] place = point.split(",");
                    assertThat(Double.parseDouble(place[0])).isBetween(0.0, PlotPanel.WIDTH);
                    assertThat(Double.parseDouble(place[1])).isBetween(0.0, PlotPanel.HEIGHT);
                });
            }
        }
        assertThat(elements(svg, "text"))
                .extracting(Element::getTextContent)
                .containsAll(curves.stream().map(Curve::label).toList())
                .contains("Bus bandwidth (GB/s)", "Time (µs)", "8 B", "128 B", "2 KiB");
        long looks = elements(svg, "polyline").stream()
                .map(line -> line.getAttribute("class"))
                .distinct()
                .count();
        assertThat(looks).isEqualTo(curves.size());
    }

    @Test
    void aNameThatIsTooLongIsCut() throws Exception {
        Document svg =
                draw(List.of(new Curve("x".repeat(500), List.of(new Curve.Point(64, 1, 2)))), "a title ".repeat(100));
        assertTextsAreInside(svg);
    }

    @Test
    void aRunIsNamedByItsFileItsDateAndItsDifferences() throws IOException {
        EarlierRun same = earlier("same.json", rows(1, "shm"));
        EarlierRun other = earlier("other.json", rows(1, "socket"));
        assertThat(Curve.of(RunInfos.SAMPLE, rows(1, "shm"), List.of(same, other)))
                .extracting(Curve::label)
                .containsExactly(
                        "this run, 2026-11-23T10:20:30Z",
                        "same.json, 2026-11-23T10:20:30Z",
                        "other.json, 2026-11-23T10:20:30Z, socket");
    }

    @Test
    void bandwidthsThatAFileRoundsToZeroAreDrawn() throws IOException {
        List<PerfRow> slow = List.of(row(8, 5000, "shm"));
        assertThat(slow.get(0).toJson(RunInfos.SAMPLE)).contains("\"busbw_gbps\":0.0,");
        List<Curve> curves = Curve.of(RunInfos.SAMPLE, slow, List.of(earlier("slow.json", slow)));
        assertThat(curves.get(0).points()).containsExactly(new Curve.Point(8, 2.4e-6, 5000));
        assertThat(curves.get(1).points()).isEqualTo(curves.get(0).points());
    }

    @Test
    void linesWithoutADateFromOlderVersionsAreDrawn() throws IOException {
        String old = rows(1, "shm").get(0).toJson(RunInfos.SAMPLE).replaceAll(",\"run\":.*", "}");
        EarlierRun earlier = EarlierRun.read(Files.writeString(directory.resolve("old.json"), old));
        assertThat(Curve.of(RunInfos.SAMPLE, rows(1, "shm"), List.of(earlier)).get(1))
                .satisfies(curve -> assertThat(curve.label()).isEqualTo("old.json"))
                .satisfies(curve -> assertThat(curve.points()).hasSize(1));
    }

    @Test
    void runsOfOtherCollectivesAreLeftOut() throws IOException {
        List<PerfRow> rows = rows(1, "shm");
        EarlierRun broadcast = earlier(
                "b.json",
                List.of(PerfTableTest.row("broadcast", PerfTableTest.side(1, 0L), PerfTableTest.side(1, 0L))));
        assertThat(Curve.of(RunInfos.SAMPLE, rows, List.of(broadcast))).hasSize(1);
    }

    @Test
    void valuesThatALogarithmicAxisCannotShowAreLeftOut() throws Exception {
        List<Curve.Point> none = List.of(new Curve.Point(64, 0, 3.5));
        Document svg = draw(List.of(new Curve("one rank", none)), "all_reduce, 1 rank");
        assertThat(elements(svg, "text")).extracting(Element::getTextContent).contains("no value above 0");
        assertThat(elements(svg, "g").stream().map(group -> group.getAttribute("data-panel")))
                .contains("time")
                .doesNotContain("bandwidth");
    }

    @Test
    void curvesStandOutFromThePageAndFromEachOther() {
        for (int i = 0; i < PlotMarker.COLOURS.size(); i++) {
            String colour = PlotMarker.COLOURS.get(i);
            boolean last = i == PlotMarker.COLOURS.size() - 1;
            String dark = last ? PlotMarker.LAST_WHEN_DARK : colour;
            assertThat(ColourVision.contrast(colour, "#ffffff")).as(colour).isGreaterThanOrEqualTo(3);
            assertThat(ColourVision.contrast(dark, "#12161b")).as(dark).isGreaterThanOrEqualTo(3);
            for (String other : PlotMarker.COLOURS.subList(0, i)) {
                for (ColourVision vision : ColourVision.values()) {
                    assertThat(vision.difference(colour, other))
                            .as(colour + other)
                            .isGreaterThan(12);
                    assertThat(vision.difference(dark, other)).as(dark + other).isGreaterThan(12);
                }
            }
        }
    }

    @Test
    void styleHasDarkAndLightColours() throws Exception {
        String style = elements(draw(List.of(new Curve("a", List.of(new Curve.Point(8, 1, 1)))), "t"), "style")
                .get(0)
                .getTextContent();
        assertThat(style.split("@media \\(prefers-color-scheme: dark\\)")).hasSize(2);
        Stream.of("text", ".dim", ".page", ".grid", ".axis", ".c6").forEach(rule -> assertThat(style.split("\n"))
                .filteredOn(line -> line.startsWith(rule + " {"))
                .as(rule)
                .hasSizeBetween(2, 2));
    }
}
