package io.jccl.topology;

import io.jccl.config.LoggedOnce;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Finds odd NVLinks in a host description that can nevertheless be planned. */
final class NvLinkRemarks {

    private final List<String> toThemselves = new ArrayList<>();

    /** Bus ids of GPUs with NVLinks to other GPUs, by compute capability. */
    private final Map<String, List<String>> linked = new TreeMap<>();

    private final Map<String, List<String>> unlinked = new TreeMap<>();

    private NvLinkRemarks() {}

    /**
     * Logs a warning for each oddity, unless this process has logged it before.
     *
     * @param source the name of the description in warnings
     */
    static void warn(XmlElement system, String source) {
        for (String remark : of(system)) {
            LoggedOnce.warn(NvLinkRemarks.class, "topology=" + source + " " + remark);
        }
    }

    /** Returns the oddities, each as a sentence. */
    static List<String> of(XmlElement system) {
        NvLinkRemarks found = new NvLinkRemarks();
        found.collect(system);
        List<String> remarks = new ArrayList<>();
        if (!found.toThemselves.isEmpty()) {
            remarks.add("gpus=" + found.toThemselves + ": an NVLink leads from each of them to itself, and is ignored;"
                    + " name the GPU at its other end as the nvlink's target");
        }
        found.unlinked.forEach((sm, gpus) -> {
            List<String> others = found.linked.getOrDefault(sm, List.of());
            if (!others.isEmpty()) {
                remarks.add("gpus=" + gpus + ": no NVLink, while " + others + " of the same kind have some; channels go"
                        + " over PCI there. Look at the links with nvidia-smi nvlink -s, or correct the description");
            }
        });
        return remarks;
    }

    private void collect(XmlElement element) {
        for (XmlElement child : element.children()) {
            if (child.type() == ElementType.PCI
                    && !child.children(ElementType.GPU).isEmpty()) {
                addDevice(child);
            } else {
                collect(child);
            }
        }
    }

    /**
     * Records whether a GPU has NVLinks. Each rank on a GPU is an element of its own, and the links may be listed under
     * one of them only.
     */
    private void addDevice(XmlElement pci) {
        String busId = pci.text("busid").orElse("");
        boolean toOthers = false;
        boolean toItself = false;
        for (XmlElement gpu : pci.children(ElementType.GPU)) {
            for (XmlElement link : gpu.children(ElementType.NVLINK)) {
                boolean own = isToItself(link, busId);
                toItself |= own;
                toOthers |= !own && link.integer("count", 0) > 0;
            }
        }
        if (toItself) {
            toThemselves.add(busId);
        } else {
            String sm = pci.children(ElementType.GPU).get(0).text("sm").orElse("");
            (toOthers ? linked : unlinked)
                    .computeIfAbsent(sm, key -> new ArrayList<>())
                    .add(busId);
        }
    }

    /** Returns true if an NVLink names its own GPU as the other end. */
    static boolean isToItself(XmlElement link, String busId) {
        return link.text("target").orElse("").toLowerCase(Locale.ROOT).equals(busId.toLowerCase(Locale.ROOT));
    }
}
