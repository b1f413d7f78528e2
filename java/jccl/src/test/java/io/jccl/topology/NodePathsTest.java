package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodePathsTest {

    @ParameterizedTest
    @CsvSource({
        "host-2numa, HOST/0, HOST/0, LOC, 5000, 0",
        "host-2numa, HOST/0, HOST/2, PHB, 12, 2",
        "host-2numa, HOST/0, HOST/1, SYS, 12, 3",
        "host-2numa, HOST/0, NET/0, PHB, 12, 3",
        "host-2numa, HOST/1, NET/0, SYS, 12, 4",
        "host-2numa, NET/1, HOST/3, PHB, 1.25, 3",
        "gpu4-nvswitch, GPU/0, GPU/3, NVL, 370.8, 2",
        "gpu4-nvswitch, GPU/0, NET/0, PIX, 48, 3",
        "gpu4-nvswitch, GPU/3, NET/1, PXB, 12, 4",
        "gpu4-nvswitch, GPU/0, NET/1, SYS, 12, 6",
        "gpu4-nvswitch, GPU/3, CPU/1, PHB, 24, 3",
        "gpu2-virtual, GPU/0, GPU/1, PHB, 12, 2",
        "gpu2-virtual, GPU/0, NET/0, PHB, 1.25, 3",
        "arm-c2c, GPU/0, CPU/0, C2C, 500, 1",
        "arm-c2c, GPU/0, NET/0, P2C, 25, 3",
        "arm-c2c, GPU/0, GPU/1, NVL, 123.6, 1",
    })
    void findsTheWidestThenShortestPath(
            String host, String from, String to, PathType type, double bandwidth, int hops) {
        NodePaths paths = DescribedHosts.paths(host);
        Topology topology = paths.topology();
        NodePath path =
                paths.path(topology.find(from).orElseThrow(), topology.find(to).orElseThrow());
        assertThat(path.type()).isEqualTo(type);
        assertThat(path.bandwidthGBps()).isCloseTo(bandwidth, org.assertj.core.data.Offset.offset(1e-6));
        assertThat(path.hops()).isEqualTo(hops);
    }

    @Test
    void noPathIsWiderOrAsWideAndShorterOnRandomHosts() {
        Random random = new Random(7);
        for (int round = 0; round < 60; round++) {
            Topology topology = randomHost(random);
            NodePaths paths = NodePaths.compute(topology);
            for (int from : topology.endpoints()) {
                for (int to : topology.endpoints()) {
                    if (from != to) {
                        NodePath best = bruteForce(topology, from, to);
                        NodePath found = paths.path(from, to);
                        assertThat(found.bandwidthGBps()).isEqualTo(best.bandwidthGBps());
                        assertThat(found.hops()).isEqualTo(best.hops());
                        assertThat(found.exists() ? width(topology, found) : 0).isEqualTo(found.bandwidthGBps());
                    }
                }
            }
        }
    }

    @Test
    void endpointsWithoutALinkHaveNoPath() {
        Topology.Builder builder = new Topology.Builder();
        builder.add(new Node.Host(0, 1));
        builder.add(new Node.Host(1, 1));
        NodePath path = NodePaths.compute(builder.build()).path(0, 1);
        assertThat(path.type()).isEqualTo(PathType.DIS);
        assertThat(path.exists()).isFalse();
    }

    @Test
    void switchesCannotBeEndsOfPaths() {
        NodePaths paths = DescribedHosts.paths("gpu4-nvswitch");
        int pci = paths.topology().find("PCI/0000:10:00.0").orElseThrow();
        assertThatThrownBy(() -> paths.path(pci, pci))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected GPU, HOST, NET or CPU");
    }

    @Test
    void trimmingDropsNetworksCardsAndForeignGpus() {
        NodePaths paths = DescribedHosts.paths("gpu4-nvswitch");
        Topology local = Trimmer.trim(paths, 0, false);
        assertThat(local.indexesOf(NodeType.NET)).isEmpty();
        assertThat(local.indexesOf(NodeType.NIC)).isEmpty();
        assertThat(local.endpoints()).hasSize(4);
        assertThat(Trimmer.trim(paths, 0, true).indexesOf(NodeType.NET)).hasSize(2);
        assertThatThrownBy(() -> Trimmer.trim(paths, 9, true)).hasMessageContaining("rank=9: no endpoint");
    }

    private static double width(Topology topology, NodePath path) {
        double width = Double.MAX_VALUE;
        int at = path.from();
        for (int next : path.via()) {
            width = Math.min(width, linkWidth(topology, at, next));
            at = next;
        }
        return width;
    }

    /** Returns the bandwidth of the widest link from one node to another. */
    static double linkWidth(Topology topology, int from, int to) {
        return topology.links(from).stream()
                .filter(link -> link.to() == to)
                .mapToDouble(Link::bandwidthGBps)
                .max()
                .orElseThrow();
    }

    /** Returns the best of all simple paths, by depth-first search. */
    private static NodePath bruteForce(Topology topology, int from, int to) {
        List<NodePath> best = new ArrayList<>(List.of(new NodePath(from, to, PathType.DIS, 0, List.of())));
        walk(topology, from, to, new ArrayList<>(List.of(from)), Double.MAX_VALUE, best);
        return best.get(0);
    }

    private static void walk(
            Topology topology, int at, int to, List<Integer> visited, double width, List<NodePath> best) {
        if (at == to) {
            NodePath known = best.get(0);
            int hops = visited.size() - 1;
            if (width > known.bandwidthGBps() || width == known.bandwidthGBps() && hops < known.hops()) {
                best.set(0, new NodePath(visited.get(0), to, PathType.SYS, width, visited.subList(1, visited.size())));
            }
            return;
        }
        if (visited.size() > 1 && topology.node(at).type().isEndpoint()) {
            return;
        }
        for (Link link : topology.links(at)) {
            if (!visited.contains(link.to())) {
                visited.add(link.to());
                walk(topology, link.to(), to, visited, Math.min(width, link.bandwidthGBps()), best);
                visited.remove(visited.size() - 1);
            }
        }
    }

    private static Topology randomHost(Random random) {
        Topology.Builder builder = new Topology.Builder();
        int cpus = 2 + random.nextInt(4);
        for (int i = 0; i < cpus; i++) {
            builder.add(new Node.Cpu(i, CpuModel.UNKNOWN, ""));
        }
        for (int rank = 0; rank < 3; rank++) {
            Node.Host host = new Node.Host(rank, 8);
            builder.add(host);
            builder.linkBoth(host.name(), "CPU/" + random.nextInt(cpus), LinkType.MEM, 1 + random.nextInt(6));
            builder.linkBoth(host.name(), "CPU/" + random.nextInt(cpus), LinkType.PCI, 1 + random.nextInt(6));
        }
        for (int i = 0; i < 2 * cpus; i++) {
            int one = random.nextInt(cpus);
            int other = random.nextInt(cpus);
            if (one != other) {
                builder.link("CPU/" + one, "CPU/" + other, LinkType.SYS, 1 + random.nextInt(6));
            }
        }
        return builder.build();
    }
}
