package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests properties of the paths of every host, on a thousand random hosts. */
class RandomHostsPathsTest {

    private static final int HOSTS = 1000;

    @Test
    void everyPathIsAChainOfLinksAsWideAsItsNarrowest() {
        forEachHost((paths, seed) -> forEachPath(paths, path -> {
            Topology topology = paths.topology();
            int at = path.from();
            double width = LinkSpeeds.LOCAL_GBPS;
            for (int next : path.via()) {
                width = Math.min(width, NodePathsTest.linkWidth(topology, at, next));
                at = next;
            }
            String as = seed + " " + path;
            assertThat(at).as(as).isEqualTo(path.exists() ? path.to() : path.from());
            assertThat(path.bandwidthGBps()).as(as).isEqualTo(path.exists() ? width : 0);
        }));
    }

    @Test
    void typesFollowFromTheNodesOfPaths() {
        forEachHost((paths, seed) -> forEachPath(paths, path -> {
            Topology topology = paths.topology();
            List<NodeType> inner = path.via().stream()
                    .limit(Math.max(0, path.hops() - 1))
                    .map(node -> topology.node(node).type())
                    .toList();
            String as = seed + " " + path + " " + inner;
            switch (path.type()) {
                case LOC -> assertThat(path.from()).as(as).isEqualTo(path.to());
                case NVL -> assertThat(inner).as(as).isSubsetOf(NodeType.NVS, NodeType.CPU);
                case NVB -> assertThat(inner).as(as).containsExactly(NodeType.GPU);
                case PIX -> assertThat(inner).as(as).isSubsetOf(NodeType.PCI, NodeType.NIC);
                case PXB -> assertThat(inner).as(as).contains(NodeType.PCI).isSubsetOf(NodeType.PCI, NodeType.NIC);
                case PXN -> assertThat(inner).as(as).contains(NodeType.GPU, NodeType.NIC);
                case PHB, SYS, P2C -> assertThat(chainOfTypes(topology, path))
                        .as(as)
                        .contains(NodeType.CPU);
                case C2C -> assertThat(chainOfTypes(topology, path)).as(as).contains(NodeType.CPU, NodeType.GPU);
                case NET -> assertThat(topology.indexesOf(NodeType.NET)).as(as).isNotEmpty();
                case DIS -> assertThat(path.via()).as(as).isEmpty();
            }
        }));
    }

    @Test
    void gpusThatAreNotPeersMeetInHostMemory() {
        forEachHost((paths, seed) -> {
            List<Integer> gpus = paths.topology().indexesOf(NodeType.GPU);
            for (int from : gpus) {
                for (int to : gpus) {
                    NodePath path = paths.path(from, to);
                    boolean direct =
                            paths.peerToPeer(from, to) || path.type() == PathType.NVB || path.type() == PathType.NET;
                    if (!direct && path.exists()) {
                        assertThat(chainOfTypes(paths.topology(), path))
                                .as(seed + " " + path)
                                .contains(NodeType.CPU);
                    }
                }
            }
        });
    }

    @Test
    void trimmingAgainChangesNothing() {
        forEachHost((paths, seed) -> {
            int rank = Topology.rankOf(
                    paths.topology().node(paths.topology().endpoints().get(0)));
            Topology once = Trimmer.trim(paths, rank, true);
            Topology twice = Trimmer.trim(NodePaths.compute(once), rank, true);
            assertThat(twice.nodes()).as("seed " + seed).isEqualTo(once.nodes());
        });
    }

    private interface HostCheck {
        void check(NodePaths paths, int seed);
    }

    private interface PathCheck {
        void check(NodePath path);
    }

    private static void forEachHost(HostCheck check) {
        for (int seed = 0; seed < HOSTS; seed++) {
            check.check(NodePaths.compute(host(new Random(seed))), seed);
        }
    }

    private static void forEachPath(NodePaths paths, PathCheck check) {
        Topology topology = paths.topology();
        List<Integer> ends = new ArrayList<>(topology.indexesOf(NodeType.GPU));
        ends.addAll(topology.indexesOf(NodeType.NET));
        ends.addAll(topology.indexesOf(NodeType.CPU));
        for (int from : ends) {
            ends.forEach(to -> check.check(paths.path(from, to)));
        }
    }

    private static List<NodeType> chainOfTypes(Topology topology, NodePath path) {
        List<NodeType> types =
                new ArrayList<>(List.of(topology.node(path.from()).type()));
        path.via().forEach(node -> types.add(topology.node(node).type()));
        return types;
    }

    private static Topology host(Random random) {
        Topology.Builder builder = new Topology.Builder();
        List<String> ports = new ArrayList<>();
        int cpus = 1 + random.nextInt(3);
        for (int i = 0; i < cpus; i++) {
            builder.add(new Node.Cpu(i, CpuModel.UNKNOWN, ""));
            ports.add("CPU/" + i);
            for (int other = 0; other < i; other++) {
                builder.linkBoth("CPU/" + i, "CPU/" + other, LinkType.SYS, width(random));
            }
        }
        for (int i = random.nextInt(6); i > 0; i--) {
            Node.Pci bridge = new Node.Pci("0000:" + i + "0:00.0", "");
            builder.add(bridge);
            builder.linkToParent(bridge.name(), ports.get(random.nextInt(ports.size())), width(random));
            ports.add(bridge.name());
        }
        int gpus = 1 + random.nextInt(8);
        for (int i = 0; i < gpus; i++) {
            Node.Gpu gpu = new Node.Gpu("0000:a" + i + ":00.0", i, i, 80, random.nextInt(4) > 0);
            builder.add(gpu);
            builder.linkToParent(gpu.name(), ports.get(random.nextInt(ports.size())), width(random));
            for (int other = 0; other < i; other++) {
                if (random.nextInt(3) == 0) {
                    builder.linkBoth(gpu.name(), "GPU/" + other, LinkType.NVL, 10 * width(random));
                }
            }
            if (random.nextInt(8) == 0) {
                builder.linkBoth(gpu.name(), "CPU/" + random.nextInt(cpus), LinkType.C2C, 100);
            }
        }
        for (int i = random.nextInt(5); i > 0; i--) {
            Node.Nic nic = new Node.Nic("0000:b" + i + ":00.0");
            builder.add(nic);
            builder.linkToParent(nic.name(), ports.get(random.nextInt(ports.size())), width(random));
            double speed = width(random);
            builder.add(new Node.Net(i, "", speed, 1, i, random.nextInt(4) > 0, false, "", 1));
            builder.linkBoth(nic.name(), "NET/" + i, LinkType.NET, speed);
        }
        return builder.build();
    }

    private static double width(Random random) {
        return 3 << random.nextInt(4);
    }
}
