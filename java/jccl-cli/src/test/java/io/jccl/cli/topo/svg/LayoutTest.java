package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.topo.ChannelGroup;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Reports;
import io.jccl.cli.topo.Reports.Fabric;
import io.jccl.cli.topo.Summary;
import io.jccl.cli.topo.TopologyReport;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the layout of the picture: nothing overlaps, and every route follows links that exist. */
class LayoutTest {

    private static final double ROUNDING = 1e-6;

    static Stream<Arguments> hosts() {
        List<Arguments> all = new ArrayList<>();
        for (Fabric fabric : Fabric.values()) {
            for (int[] shape : new int[][] {{1, 1, 2}, {2, 1, 2}, {2, 2, 2}, {4, 1, 2}, {2, 4, 1}, {2, 2, 4}}) {
                for (int channels : new int[] {1, 3, 8, 20}) {
                    String xml = Reports.host(shape[0], shape[1], shape[2], fabric);
                    boolean networks = channels % 2 == 0;
                    TopologyReport report = Reports.of(xml, networks ? 2 : 1);
                    String name = fabric + " " + shape[0] + "x" + shape[1] + "x" + shape[2] + " channels " + channels;
                    all.add(Arguments.of(name, Reports.withRandomChannels(report, channels, networks, channels)));
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hosts")
    void nothingOverlaps(String name, TopologyReport report) {
        Layout layout = layout(report);
        HostView host = layout.wiring().host();
        List<Strip> strips = layout.wiring().strips();
        for (int i = 0; i < strips.size(); i++) {
            Box box = layout.box(strips.get(i).id());
            assertThat(box).as(strips.get(i).id()).isNotNull();
            for (int j = 0; j < i; j++) {
                assertThat(box.overlaps(layout.box(strips.get(j).id())))
                        .as("%s on %s", strips.get(i), strips.get(j))
                        .isFalse();
            }
        }
        List<Label> labels = new HostPainter(layout).labels();
        for (int i = 0; i < labels.size(); i++) {
            for (String node : host.names()) {
                assertThat(labels.get(i).box().overlaps(layout.box(node)))
                        .as("%s on %s", labels.get(i), node)
                        .isFalse();
            }
            if (labels.get(i).middle()) {
                for (Leg leg : layout.wiring().legs()) {
                    assertThat(labels.get(i).box().overlaps(layout.line(leg)))
                            .as("%s on %s", labels.get(i), leg)
                            .isFalse();
                }
            }
            for (int j = 0; j < i; j++) {
                assertThat(labels.get(i).box().overlaps(labels.get(j).box()))
                        .as("%s on %s", labels.get(i), labels.get(j))
                        .isFalse();
            }
        }
        Box paper = new Box(0, 0, layout.width(), layout.height());
        strips.forEach(
                strip -> assertThat(paper.contains(layout.box(strip.id()))).isTrue());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hosts")
    void boxesHoldTheirTextAndFramesTheirNodes(String name, TopologyReport report) {
        Layout layout = layout(report);
        checkBoxes(layout);
        checkBoxes(layout.withoutRoutes());
    }

    private static void checkBoxes(Layout layout) {
        HostView host = layout.wiring().host();
        for (String node : host.names()) {
            assertThat(layout.box(node).width()).isGreaterThan(layout.labels().width(node) - ROUNDING);
            assertThat(layout.box(node).height()).isGreaterThan(layout.labels().height(node) - ROUNDING);
            String root = node;
            while (host.parent(root).isPresent()) {
                root = host.parent(root).get();
            }
            if (host.type(node) != NodeType.NVS) {
                assertThat(layout.frames().get(root).contains(layout.box(node)))
                        .as("%s in %s", node, root)
                        .isTrue();
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hosts")
    void withoutRoutesSwitchesAreAsHighAsTheirTextAndNothingMovesSideways(String name, TopologyReport report) {
        Layout layout = layout(report);
        Layout bare = layout.withoutRoutes();
        assertThat(bare.width()).isEqualTo(layout.width());
        assertThat(bare.height()).isLessThan(layout.height());
        for (String node : layout.wiring().host().names()) {
            assertThat(bare.box(node).x()).isEqualTo(layout.box(node).x());
            assertThat(bare.box(node).width()).isEqualTo(layout.box(node).width());
            if (layout.wiring().host().type(node) == NodeType.NVS) {
                assertThat(bare.box(node).height()).isEqualTo(layout.labels().height(node));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hosts")
    void routesFollowLinksAndVisitEveryRank(String name, TopologyReport report) {
        Layout layout = layout(report);
        HostView host = layout.wiring().host();
        List<List<ChannelGroup>> sets =
                List.copyOf(Summary.channelGroups(report).values());
        for (int set = 0; set < sets.size(); set++) {
            List<Trace> traces = layout.routes().get(set).traces();
            int groups = traces.stream().mapToInt(Trace::group).max().orElseThrow() + 1;
            assertThat(groups).isEqualTo(Math.min(16, sets.get(set).size()));
            for (int group = 0; group < groups; group++) {
                Set<String> visited = new HashSet<>();
                int number = group;
                traces.stream().filter(trace -> trace.group() == number).forEach(trace -> {
                    List<String> nodes = trace.nodes(layout.wiring());
                    for (int i = 0; i + 1 < nodes.size(); i++) {
                        assertThat(host.widest(nodes.get(i), nodes.get(i + 1)))
                                .as("%s", nodes)
                                .isPresent();
                    }
                    visited.add(nodes.get(0));
                    visited.add(nodes.get(nodes.size() - 1));
                });
                assertThat(visited).containsAll(host.ofType(NodeType.GPU));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hosts")
    void noTwoRoutesShareALaneAndLegsStayInTheirBoxes(String name, TopologyReport report) {
        Layout layout = layout(report);
        for (Lanes lanes : layout.routes()) {
            Set<List<Object>> places = new HashSet<>();
            List<Trace> traces = lanes.traces();
            for (int trace = 0; trace < traces.size(); trace++) {
                List<Leg> legs = traces.get(trace).legs();
                for (int place = 0; place < legs.size(); place++) {
                    Leg leg = legs.get(place);
                    double x = lanes.x(trace, place);
                    assertThat(places.add(List.of(leg.index(), Math.round(x * 10))))
                            .isTrue();
                    for (String end : List.of(leg.upper(), leg.lower())) {
                        if (layout.wiring().strip(end).isNode()) {
                            assertThat(x)
                                    .isBetween(
                                            layout.box(end).x(), layout.box(end).right());
                        }
                    }
                }
            }
        }
    }

    private static Layout layout(TopologyReport report) {
        Map<String, List<ChannelGroup>> groups = Summary.channelGroups(report);
        return TopoSvg.layout(report, HostView.of(report), groups);
    }
}
