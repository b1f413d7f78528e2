package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Numbers;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.List;

/** What stands in the boxes of nodes. */
final class Labels {

    private static final double LEAF_WIDTH = 66;
    private static final double LONGEST = 84;
    private static final double PADDING = 12;

    /** More ranks in host memory than this have their numbers only, so that a picture of all is not too wide. */
    private static final int MAX_HOSTS_NAMED = 16;

    private final HostView host;
    private final boolean manyHosts;

    Labels(HostView host) {
        this.host = host;
        this.manyHosts = host.ofType(NodeType.HOST).size() > MAX_HOSTS_NAMED;
    }

    /** Whether the box is a bar with one line of text, wider than high. */
    boolean isBar(String node) {
        return switch (host.type(node)) {
            case CPU, PCI, NVS -> true;
            case GPU, HOST, NIC, NET -> false;
        };
    }

    /** The first line. */
    String name(String node) {
        String number = node.substring(node.indexOf('/') + 1);
        return switch (host.type(node)) {
            case GPU -> node.startsWith("GPU/") ? "GPU " + number : "GPU";
            case HOST -> manyHosts ? number : "rank " + number;
            case CPU -> "NUMA " + number;
            case PCI -> "PCI " + shortBusId(number);
            case NVS -> "NVLink switches";
            case NIC -> "NIC";
            case NET -> "NET " + number;
        };
    }

    /** The lines below it; what is too long for a box is whole in the tooltip. */
    List<String> details(String node) {
        List<String> lines = new ArrayList<>();
        host.detail(node).ifPresent(detail -> {
            if (detail instanceof Node.Gpu gpu) {
                if (gpu.sm() > 0) {
                    lines.add("sm " + gpu.sm() / 10 + "." + gpu.sm() % 10);
                }
                lines.add(shortBusId(gpu.busId()));
            } else if (detail instanceof Node.Nic nic) {
                lines.add(shortBusId(nic.busId()));
            } else if (detail instanceof Node.Net net) {
                lines.add(net.device());
            } else if (detail instanceof Node.Host && !manyHosts) {
                lines.add("host memory");
            }
        });
        lines.removeIf(String::isEmpty);
        lines.replaceAll(line -> TextStyle.SMALL.cut(line, LONGEST));
        return lines;
    }

    /** The width that all lines need. */
    double width(String node) {
        double widest = TextStyle.NAME.width(name(node));
        for (String line : details(node)) {
            widest = Math.max(widest, TextStyle.SMALL.width(line));
        }
        return widest + PADDING;
    }

    /** The minimum width of a box, which makes boxes of one kind alike. */
    double minWidth(String node) {
        boolean small = isBar(node) || host.type(node) == NodeType.HOST && manyHosts;
        return small ? 0 : LEAF_WIDTH;
    }

    /** The height that all lines need. */
    double height(String node) {
        return isBar(node) ? 22 : 32 + 13 * details(node).size();
    }

    /** The text that appears when the pointer is on the box. */
    String tooltip(String node) {
        StringBuilder text = new StringBuilder(node);
        host.detail(node).ifPresent(detail -> {
            if (detail instanceof Node.Cpu cpu) {
                text.append(" ")
                        .append(cpu.model().arch())
                        .append(' ')
                        .append(cpu.model().vendor());
            } else if (detail instanceof Node.Net net) {
                text.append(' ').append(net.device());
                text.append(", ").append(Numbers.bandwidth(net.bandwidthGBps())).append(" GB/s");
            } else if (detail instanceof Node.Gpu gpu) {
                text.append(' ').append(gpu.busId());
            }
        });
        host.wiresAt(node).forEach(wire -> text.append('\n')
                .append(wire.type())
                .append(' ')
                .append(wire.label())
                .append(" GB/s: ")
                .append(wire.opposite(node)));
        return text.toString();
    }

    /** Whether a node is drawn in the row of boxes below the trees of switches. */
    boolean isLeaf(String node) {
        NodeType type = host.type(node);
        return !isBar(node) && !(type == NodeType.NET && host.parent(node).isPresent());
    }

    private static String shortBusId(String busId) {
        return busId.startsWith("0000:") ? busId.substring("0000:".length()) : busId;
    }
}
