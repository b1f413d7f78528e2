package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.topo.Band;
import io.jccl.cli.topo.MachineView;
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

/** Where things lie: nothing on another, and every route on links that are there. */
class FloorPlanTest {

    private static final double ROUNDING = 1e-6;

    static Stream<Arguments> machines() {
        List<Arguments> all = new ArrayList<>();
        for (Fabric fabric : Fabric.values()) {
            for (int[] shape : new int[][] {{1, 1, 2}, {2, 1, 2}, {2, 2, 2}, {4, 1, 2}, {2, 4, 1}, {2, 2, 4}}) {
                for (int channels : new int[] {1, 3, 8, 20}) {
                    String xml = Reports.machine(shape[0], shape[1], shape[2], fabric);
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
    @MethodSource("machines")
    void nothingLiesOnAnother(String name, TopologyReport report) {
        FloorPlan plan = plan(report);
        MachineView machine = plan.wiring().machine();
        List<Strip> strips = plan.wiring().strips();
        for (int i = 0; i < strips.size(); i++) {
            Box box = plan.box(strips.get(i).id());
            assertThat(box).as(strips.get(i).id()).isNotNull();
            for (int j = 0; j < i; j++) {
                assertThat(box.overlaps(plan.box(strips.get(j).id())))
                        .as("%s on %s", strips.get(i), strips.get(j))
                        .isFalse();
            }
        }
        List<MachinePainter.LinkLabel> labels = new MachinePainter(plan).labels();
        for (int i = 0; i < labels.size(); i++) {
            for (String node : machine.names()) {
                assertThat(labels.get(i).box().overlaps(plan.box(node)))
                        .as("%s on %s", labels.get(i), node)
                        .isFalse();
            }
            if (labels.get(i).middle()) {
                for (Leg leg : plan.wiring().legs()) {
                    assertThat(labels.get(i).box().overlaps(plan.line(leg)))
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
        Box paper = new Box(0, 0, plan.width(), plan.height());
        strips.forEach(strip -> assertThat(paper.contains(plan.box(strip.id()))).isTrue());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("machines")
    void boxesHoldTheirTextAndFramesTheirNodes(String name, TopologyReport report) {
        FloorPlan plan = plan(report);
        checkBoxes(plan);
        checkBoxes(plan.withoutRoutes());
    }

    private static void checkBoxes(FloorPlan plan) {
        MachineView machine = plan.wiring().machine();
        for (String node : machine.names()) {
            assertThat(plan.box(node).width()).isGreaterThan(plan.labels().width(node) - ROUNDING);
            assertThat(plan.box(node).height()).isGreaterThan(plan.labels().height(node) - ROUNDING);
            String root = node;
            while (machine.parent(root).isPresent()) {
                root = machine.parent(root).get();
            }
            if (machine.type(node) != NodeType.NVS) {
                assertThat(plan.frames().get(root).contains(plan.box(node)))
                        .as("%s in %s", node, root)
                        .isTrue();
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("machines")
    void withoutRoutesASwitchIsAsHighAsItsTextAndEverythingStaysBelowTheSame(String name, TopologyReport report) {
        FloorPlan plan = plan(report);
        FloorPlan bare = plan.withoutRoutes();
        assertThat(bare.width()).isEqualTo(plan.width());
        assertThat(bare.height()).isLessThan(plan.height());
        for (String node : plan.wiring().machine().names()) {
            assertThat(bare.box(node).x()).isEqualTo(plan.box(node).x());
            assertThat(bare.box(node).width()).isEqualTo(plan.box(node).width());
            if (plan.wiring().machine().type(node) == NodeType.NVS) {
                assertThat(bare.box(node).height()).isEqualTo(plan.labels().height(node));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("machines")
    void routesFollowLinksAndVisitEveryRank(String name, TopologyReport report) {
        FloorPlan plan = plan(report);
        MachineView machine = plan.wiring().machine();
        List<List<Band>> sets = List.copyOf(Summary.bands(report).values());
        for (int set = 0; set < sets.size(); set++) {
            List<Trace> traces = plan.routes().get(set).traces();
            int bands = traces.stream().mapToInt(Trace::band).max().orElseThrow() + 1;
            assertThat(bands).isEqualTo(Math.min(16, sets.get(set).size()));
            for (int band = 0; band < bands; band++) {
                Set<String> visited = new HashSet<>();
                int number = band;
                traces.stream().filter(trace -> trace.band() == number).forEach(trace -> {
                    List<String> nodes = trace.nodes(plan.wiring());
                    for (int i = 0; i + 1 < nodes.size(); i++) {
                        assertThat(machine.widest(nodes.get(i), nodes.get(i + 1)))
                                .as("%s", nodes)
                                .isPresent();
                    }
                    visited.add(nodes.get(0));
                    visited.add(nodes.get(nodes.size() - 1));
                });
                assertThat(visited).containsAll(machine.ofType(NodeType.GPU));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("machines")
    void noTwoRoutesShareALaneAndLegsStayInTheirBoxes(String name, TopologyReport report) {
        FloorPlan plan = plan(report);
        for (Lanes lanes : plan.routes()) {
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
                        if (plan.wiring().strip(end).isNode()) {
                            assertThat(x)
                                    .isBetween(plan.box(end).x(), plan.box(end).right());
                        }
                    }
                }
            }
        }
    }

    private static FloorPlan plan(TopologyReport report) {
        Map<String, List<Band>> bands = Summary.bands(report);
        return TopoSvg.plan(report, MachineView.of(report), bands);
    }
}
