// RUN: ingot-opt %s --tile-dedup --allow-unregistered-dialect > %t.1
// RUN: FileCheck %s --input-file=%t.1
// Names are a function of the bodies: again, and under other names, the same text.
// RUN: ingot-opt %t.1 --tile-dedup --allow-unregistered-dialect | diff %t.1 -
// RUN: sed 's/@zebra/@aardvark/' %s | ingot-opt --tile-dedup --allow-unregistered-dialect | diff %t.1 -

// Two equal bodies are one kernel; another factor or another class is another kernel.
// CHECK: tile.kernel @[[A:k_scale_64_m1_[0-9a-f]+]] scale
// CHECK: tile.kernel @[[B:k_scale_64_m1_[0-9a-f]+]] scale
// CHECK: tile.kernel @[[C:k_scale_64_mN_[0-9a-f]+]] scale
// CHECK-NOT: tile.kernel
// CHECK: tile.launch @[[A]]
// CHECK: tile.launch @[[A]]
// CHECK: tile.launch @[[B]]
// CHECK: tile.launch @[[C]]
tile.kernel @p0 scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @zebra scale ins(%in: !tile.rows<64>) outs(%out: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %a = tile.load %in : !tile.rows<64> -> !tile.frag<64>
    %b = tile.scale %a {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %b, %out : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @p2 scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.25 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
tile.kernel @p3 scale ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid rows {
    %0 = tile.load %x : !tile.rows<64> -> !tile.frag<64>
    %1 = tile.scale %0 {factor = 0.5 : f32} : !tile.frag<64>
    tile.store %1, %y : !tile.frag<64>, !tile.rows<64>
  }
}
llm.step @m1(%ids: tensor<?xi32>, %b: !llm.batch) -> tensor<?x64xf32> attributes {rows = 1 : i64} {
  %x = "test.source"() : () -> tensor<?x64xf32>
  %0 = tile.launch @p0(%x) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = tile.launch @zebra(%0) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = tile.launch @p2(%1) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = tile.launch @p3(%2) params = [] : (tensor<?x64xf32>) -> tensor<?x64xf32>
  llm.return %3 : tensor<?x64xf32>
}
