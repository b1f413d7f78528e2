package io.jccl.cli.topo.svg;

import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.List;
import java.util.Map;

/**
 * The colours of a picture on a light or a dark page. The colours of routes are those of Okabe and Ito ("Color
 * Universal Design", 2008) that stand out from the page. All other colours were chosen so that readers with protanopia
 * or deuteranopia can distinguish them too.
 *
 * @param page the background
 * @param ink text
 * @param soft text of less weight, and lines without a type
 * @param frame the background inside the frames of NUMA nodes
 * @param frameEdge edges of these frames
 * @param nodes colours of boxes by type
 * @param links colours of lines by type
 * @param routes colours of routes, which repeat
 */
record Palette(
        String page,
        String ink,
        String soft,
        String frame,
        String frameEdge,
        Map<NodeType, Tint> nodes,
        Map<LinkType, String> links,
        List<String> routes) {

    /**
     * The colours of a box.
     *
     * @param fill its inside
     * @param edge its border
     */
    record Tint(String fill, String edge) {}

    static final Palette LIGHT = new Palette(
            "#ffffff",
            "#1c2733",
            "#45525f",
            "#fdfdfd",
            "#c6ced6",
            Map.of(
                    NodeType.GPU, new Tint("#cdebdd", "#00734f"),
                    NodeType.NVS, new Tint("#8fd3b6", "#00734f"),
                    NodeType.CPU, new Tint("#fbd9a0", "#a86f00"),
                    NodeType.HOST, new Tint("#fdf3c4", "#a86f00"),
                    NodeType.PCI, new Tint("#d0d4de", "#64798f"),
                    NodeType.NIC, new Tint("#d3e8fc", "#0072b2"),
                    NodeType.NET, new Tint("#a3caf0", "#0072b2")),
            Map.of(
                    LinkType.NVL, "#009e73",
                    LinkType.C2C, "#aa3377",
                    LinkType.PCI, "#7d8fa3",
                    LinkType.MEM, "#6b4a00",
                    LinkType.SYS, "#d55e00",
                    LinkType.NET, "#0072b2",
                    LinkType.LOC, "#333333"),
            List.of("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000"));

    static final Palette DARK = new Palette(
            "#0d1117",
            "#e6edf3",
            "#bcc6d1",
            "#151b23",
            "#3d4753",
            Map.of(
                    NodeType.GPU, new Tint("#123127", "#2fbf8f"),
                    NodeType.NVS, new Tint("#004d38", "#2fbf8f"),
                    NodeType.CPU, new Tint("#5c3d00", "#e69f00"),
                    NodeType.HOST, new Tint("#3a2f10", "#e69f00"),
                    NodeType.PCI, new Tint("#2b323b", "#8fa1b5"),
                    NodeType.NIC, new Tint("#0f2f4d", "#56b4e9"),
                    NodeType.NET, new Tint("#0a4a80", "#56b4e9")),
            Map.of(
                    LinkType.NVL, "#2fbf8f",
                    LinkType.C2C, "#f7b0dc",
                    LinkType.PCI, "#8496aa",
                    LinkType.MEM, "#f0e442",
                    LinkType.SYS, "#d55e00",
                    LinkType.NET, "#56b4e9",
                    LinkType.LOC, "#ffffff"),
            List.of("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442"));

    /** Returns the rules of the style sheet. */
    String rules() {
        StringBuilder css = new StringBuilder(
                """
                .page { fill: %1$s; }
                text { fill: %2$s; }
                .figures, .about, .small { fill: %3$s; }
                .name, .small, .bandwidth { stroke: %1$s; }
                .casing { stroke: %1$s; }
                .plain { stroke: %3$s; }
                .frame { fill: %4$s; }
                .frame-edge { stroke: %5$s; }
                """
                        .formatted(page, ink, soft, frame, frameEdge));
        for (NodeType type : NodeType.values()) {
            css.append("." + Theme.fill(type) + " { fill: " + nodes.get(type).fill + "; }\n");
            css.append("." + Theme.edge(type) + " { stroke: " + nodes.get(type).edge + "; }\n");
        }
        for (LinkType type : LinkType.values()) {
            css.append("." + Theme.link(type) + " { stroke: " + links.get(type) + "; }\n");
        }
        for (int number = 0; number < routes.size(); number++) {
            String colour = routes.get(number);
            css.append("." + Theme.route(number) + " { fill: " + colour + "; stroke: " + colour + "; }\n");
        }
        return css.toString();
    }
}
