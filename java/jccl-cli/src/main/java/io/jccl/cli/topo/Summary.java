package io.jccl.cli.topo;

import io.jccl.planning.Plan;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.wire.RankList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The lines that summarise a report, for text and pictures. */
public final class Summary {

    private Summary() {}

    /** Returns the groups of channels of every graph of a report, by the graph's name. */
    public static Map<String, List<ChannelGroup>> channelGroups(TopologyReport report) {
        Map<String, List<ChannelGroup>> groups = new LinkedHashMap<>();
        report.graphs().forEach((name, row) -> groups.put(name, ChannelGroup.of(row.graph())));
        return groups;
    }

    /** Returns a short description of a host: its ranks, NUMA nodes and network cards. */
    public static String title(HostView host) {
        List<String> parts = endpoints(host);
        add(parts, host.ofType(NodeType.CPU).size(), "NUMA node", "");
        add(parts, host.ofType(NodeType.NIC).size(), "network card", "");
        return String.join(", ", parts);
    }

    /** Returns a line that lists the parts of a host. */
    public static String host(HostView host) {
        List<String> parts = endpoints(host);
        if (!host.ofType(NodeType.NVS).isEmpty()) {
            parts.add("NVLink switches");
        }
        add(parts, host.ofType(NodeType.PCI).size(), "PCI switch", "");
        add(parts, host.ofType(NodeType.NIC).size(), "network card", "");
        add(parts, host.ofType(NodeType.NET).size(), "network port", speeds(host));
        add(parts, host.ofType(NodeType.CPU).size(), "NUMA node", processors(host));
        return String.join(", ", parts);
    }

    private static List<String> endpoints(HostView host) {
        List<String> parts = new ArrayList<>();
        int gpus = distinctGpus(host);
        if (gpus > 0) {
            int nodes = host.ofType(NodeType.GPU).size();
            String ranks = nodes > gpus ? " with " + Numbers.count(nodes, "rank") : "";
            parts.add(Numbers.count(gpus, "GPU") + architectures(host) + ranks);
        }
        add(parts, host.ofType(NodeType.HOST).size(), "rank", " in host memory");
        return parts;
    }

    /** Returns the number of GPUs; a GPU that several ranks share counts once. */
    private static int distinctGpus(HostView host) {
        return (int) host.ofType(NodeType.GPU).stream()
                .map(name -> host.detail(name)
                        .filter(Node.Gpu.class::isInstance)
                        .map(node -> ((Node.Gpu) node).busId())
                        .orElse(name))
                .distinct()
                .count();
    }

    /** Returns a line with the ranks that share a GPU; empty if none do. */
    public static Optional<String> sharedGpus(TopologyReport report) {
        return report.sharedGpus().isEmpty()
                ? Optional.empty()
                : Optional.of(report.sharedGpus().entrySet().stream()
                        .map(gpu -> "ranks " + RankList.text(gpu.getValue()) + " on " + gpu.getKey())
                        .collect(Collectors.joining("; ", "ranks that share a GPU: ", "")));
    }

    /** Returns a line for each reason why GPUs do not use each other's memory; none if all do. */
    static List<String> apart(TopologyReport report) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        report.paths().stream().filter(TopologyReport.PathRow::isBetweenGpus).forEach(path -> path.apart()
                .ifPresent(reason -> counts.merge(reason, 1, Integer::sum)));
        return counts.entrySet().stream()
                .map(entry -> Numbers.count(entry.getValue() / 2, "pair") // each pair has a path in either direction
                        + " of GPUs without peer access, data goes through host memory: " + entry.getKey())
                .toList();
    }

    private static void add(List<String> parts, int count, String noun, String more) {
        if (count > 0) {
            parts.add(Numbers.count(count, noun) + more);
        }
    }

    private static String architectures(HostView host) {
        TreeSet<Integer> found = new TreeSet<>();
        host.ofType(NodeType.GPU).forEach(name -> host.detail(name).ifPresent(node -> {
            if (node instanceof Node.Gpu gpu && gpu.sm() > 0) {
                found.add(gpu.sm());
            }
        }));
        return found.isEmpty()
                ? ""
                : found.stream().map(sm -> sm / 10 + "." + sm % 10).collect(Collectors.joining(" and ", " (sm ", ")"));
    }

    private static String speeds(HostView host) {
        TreeSet<Double> found = new TreeSet<>();
        host.ofType(NodeType.NET).forEach(name -> host.detail(name).ifPresent(node -> {
            if (node instanceof Node.Net net) {
                found.add(net.bandwidthGBps());
            }
        }));
        return found.isEmpty()
                ? ""
                : found.stream().map(Numbers::bandwidth).collect(Collectors.joining(" or ", " of ", " GB/s"));
    }

    private static String processors(HostView host) {
        return host.ofType(NodeType.CPU).stream()
                .flatMap(name -> host.detail(name).stream())
                .map(node -> node instanceof Node.Cpu cpu
                        ? (cpu.model().arch() + " " + cpu.model().vendor()).strip()
                        : "")
                .filter(model -> !model.isEmpty())
                .distinct()
                .reduce((one, other) -> one + ", " + other)
                .map(models -> " (" + models + ")")
                .orElse("");
    }

    /** Returns a line for each graph: the bandwidth of its channels and the types of their paths. */
    public static List<String> channels(TopologyReport report) {
        List<String> lines = new ArrayList<>();
        report.graphs().forEach((name, row) -> {
            ChannelGraph graph = row.graph();
            StringBuilder line = new StringBuilder(capital(name) + ": ");
            line.append(total(graph.channels(), graph.bwIntra())).append(' ');
            if (!graph.rails().isEmpty()) {
                line.append("inside, ");
            }
            line.append(describe(graph.typeIntra()));
            if (!graph.rails().isEmpty()) {
                line.append("; ").append(total(graph.channels(), graph.bwInter()));
                line.append(" to the network ports, ").append(describe(graph.typeInter()));
            }
            lines.add(line.toString());
        });
        return lines;
    }

    /** Returns the description of a type of path, followed by its name. */
    private static String describe(PathType type) {
        return Meanings.of(type) + " (" + type + ")";
    }

    /** Returns a line about a plan over hosts that are equal to each other. */
    public static Optional<String> plan(TopologyReport report) {
        return report.plan().map(plan -> plan(plan) + copies(report, plan));
    }

    /** Returns a line about a plan. */
    public static String plan(Plan plan) {
        return "Plan: " + Numbers.count(plan.size(), "rank") + " on "
                + Numbers.count(plan.hosts().size(), "host") + ", "
                + Numbers.count(plan.channels(), "channel");
    }

    /**
     * Returns a remark if the plan has several channels for each channel that was found on a host, else an empty text.
     */
    private static String copies(TopologyReport report, Plan plan) {
        int found = report.graphs().values().stream()
                .mapToInt(row -> row.graph().channels())
                .max()
                .orElse(0);
        boolean even = found > 0 && plan.channels() > found && plan.channels() % found == 0;
        return even ? " (" + plan.channels() / found + " along each channel of a host)" : "";
    }

    /** Returns a line about a group of channels. */
    public static String describe(ChannelGroup group, double eachGBps) {
        StringBuilder line = new StringBuilder(total(group.channels(), eachGBps));
        line.append(", ").append(numbers(group.forward()));
        if (!group.backward().isEmpty() && group.pattern() == Pattern.RING) {
            line.append(" one way, ").append(numbers(group.backward())).append(" the other");
        } else if (!group.backward().isEmpty()) {
            line.append(" from the first, ").append(numbers(group.backward())).append(" from the last");
        }
        line.append(":  ").append(group.route());
        String netPorts = group.netNames();
        if (!netPorts.isEmpty()) {
            line.append("  by ").append(netPorts);
        }
        return line.toString();
    }

    private static String total(int channels, double eachGBps) {
        String sum = Numbers.sum(eachGBps * channels) + " GB/s";
        return channels == 1 ? sum : channels + " × " + Numbers.sum(eachGBps) + " = " + sum;
    }

    /** Returns a name with a capital first letter. */
    public static String capital(String name) {
        return Character.toUpperCase(name.charAt(0)) + name.substring(1);
    }

    private static String numbers(List<Integer> channels) {
        return (channels.size() == 1 ? "channel " : "channels ") + Numbers.ranges(channels);
    }

    /** Returns a line about a tree over hosts. */
    public static String tree(HostTree tree) {
        return capital(numbers(tree.channels())) + ": root is host " + tree.root() + ", depth " + tree.depth();
    }
}
