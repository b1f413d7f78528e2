package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Numbers;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.List;

/** The texts in the boxes of nodes, and the sizes of the boxes. */
final class Labels {

    private static final double LEAF_WIDTH = 66;
    private static final double LONGEST = 84;
    private static final double PADDING = 12;

    /**
     * If a host has more ranks in host memory than this, their boxes contain only numbers, so that the picture does not
     * become too wide.
     */
    private static final int MAX_HOSTS_NAMED = 16;

    private final HostView host;
    private final boolean manyHosts;

    Labels(HostView host) {
        this.host = host;
        this.manyHosts = host.ofType(NodeType.HOST).size() > MAX_HOSTS_NAMED;
    }

    /** Returns true if the box is a bar: one line of text, wider than high. */
    boolean isBar(String node) {
        return switch (host.type(node)) {
            case CPU, PCI, NVS -> true;
            case GPU, HOST, NIC, NET -> false;
        };
    }

    /** Returns the first line. */
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

    /** Returns the lines below the first, cut to the width of a box; the tooltip contains the whole text. */
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

    /** Returns the width that all lines need. */
    double width(String node) {
        double widest = TextStyle.NAME.width(name(node));
        for (String line : details(node)) {
            widest = Math.max(widest, TextStyle.SMALL.width(line));
        }
        return widest + PADDING;
    }

    /** Returns the minimum width of a box, which makes boxes of one kind alike. */
    double minWidth(String node) {
        boolean small = isBar(node) || host.type(node) == NodeType.HOST && manyHosts;
        return small ? 0 : LEAF_WIDTH;
    }

    /** Returns the height that all lines need. */
    double height(String node) {
        return isBar(node) ? 22 : 32 + 13 * details(node).size();
    }

    /** Returns the text that appears when the pointer is on the box. */
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

    /** Returns true if a node is drawn in the row of boxes below the trees of switches. */
    boolean isLeaf(String node) {
        NodeType type = host.type(node);
        return !isBar(node) && !(type == NodeType.NET && host.parent(node).isPresent());
    }

    private static String shortBusId(String busId) {
        return busId.startsWith("0000:") ? busId.substring("0000:".length()) : busId;
    }
}
