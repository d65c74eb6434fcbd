"use strict";
(() => {
  // node_modules/preact/dist/preact.module.js
  var n;
  var l;
  var u;
  var t;
  var i;
  var r;
  var o;
  var e;
  var f;
  var c;
  var s;
  var a;
  var h;
  var p = {};
  var v = [];
  var y = /acit|ex(?:s|g|n|p|$)|rph|grid|ows|mnc|ntw|ine[ch]|zoo|^ord|itera/i;
  var w = Array.isArray;
  function d(n2, l3) {
    for (var u4 in l3)
      n2[u4] = l3[u4];
    return n2;
  }
  function g(n2) {
    n2 && n2.parentNode && n2.parentNode.removeChild(n2);
  }
  function _(l3, u4, t3) {
    var i4, r3, o3, e3 = {};
    for (o3 in u4)
      "key" == o3 ? i4 = u4[o3] : "ref" == o3 ? r3 = u4[o3] : e3[o3] = u4[o3];
    if (arguments.length > 2 && (e3.children = arguments.length > 3 ? n.call(arguments, 2) : t3), "function" == typeof l3 && null != l3.defaultProps)
      for (o3 in l3.defaultProps)
        void 0 === e3[o3] && (e3[o3] = l3.defaultProps[o3]);
    return m(l3, e3, i4, r3, null);
  }
  function m(n2, t3, i4, r3, o3) {
    var e3 = { type: n2, props: t3, key: i4, ref: r3, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: void 0, __v: null == o3 ? ++u : o3, __i: -1, __u: 0 };
    return null == o3 && null != l.vnode && l.vnode(e3), e3;
  }
  function k(n2) {
    return n2.children;
  }
  function x(n2, l3) {
    this.props = n2, this.context = l3;
  }
  function S(n2, l3) {
    if (null == l3)
      return n2.__ ? S(n2.__, n2.__i + 1) : null;
    for (var u4; l3 < n2.__k.length; l3++)
      if (null != (u4 = n2.__k[l3]) && null != u4.__e)
        return u4.__e;
    return "function" == typeof n2.type ? S(n2) : null;
  }
  function C(n2) {
    var l3, u4;
    if (null != (n2 = n2.__) && null != n2.__c) {
      for (n2.__e = n2.__c.base = null, l3 = 0; l3 < n2.__k.length; l3++)
        if (null != (u4 = n2.__k[l3]) && null != u4.__e) {
          n2.__e = n2.__c.base = u4.__e;
          break;
        }
      return C(n2);
    }
  }
  function M(n2) {
    (!n2.__d && (n2.__d = true) && i.push(n2) && !$.__r++ || r != l.debounceRendering) && ((r = l.debounceRendering) || o)($);
  }
  function $() {
    for (var n2, u4, t3, r3, o3, f4, c3, s3 = 1; i.length; )
      i.length > s3 && i.sort(e), n2 = i.shift(), s3 = i.length, n2.__d && (t3 = void 0, r3 = void 0, o3 = (r3 = (u4 = n2).__v).__e, f4 = [], c3 = [], u4.__P && ((t3 = d({}, r3)).__v = r3.__v + 1, l.vnode && l.vnode(t3), O(u4.__P, t3, r3, u4.__n, u4.__P.namespaceURI, 32 & r3.__u ? [o3] : null, f4, null == o3 ? S(r3) : o3, !!(32 & r3.__u), c3), t3.__v = r3.__v, t3.__.__k[t3.__i] = t3, N(f4, t3, c3), r3.__e = r3.__ = null, t3.__e != o3 && C(t3)));
    $.__r = 0;
  }
  function I(n2, l3, u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, y3, w3, d3, g2, _3, m3 = t3 && t3.__k || v, b = l3.length;
    for (f4 = P(u4, l3, m3, f4, b), a3 = 0; a3 < b; a3++)
      null != (y3 = u4.__k[a3]) && (h3 = -1 == y3.__i ? p : m3[y3.__i] || p, y3.__i = a3, g2 = O(n2, y3, h3, i4, r3, o3, e3, f4, c3, s3), w3 = y3.__e, y3.ref && h3.ref != y3.ref && (h3.ref && B(h3.ref, null, y3), s3.push(y3.ref, y3.__c || w3, y3)), null == d3 && null != w3 && (d3 = w3), (_3 = !!(4 & y3.__u)) || h3.__k === y3.__k ? f4 = A(y3, f4, n2, _3) : "function" == typeof y3.type && void 0 !== g2 ? f4 = g2 : w3 && (f4 = w3.nextSibling), y3.__u &= -7);
    return u4.__e = d3, f4;
  }
  function P(n2, l3, u4, t3, i4) {
    var r3, o3, e3, f4, c3, s3 = u4.length, a3 = s3, h3 = 0;
    for (n2.__k = new Array(i4), r3 = 0; r3 < i4; r3++)
      null != (o3 = l3[r3]) && "boolean" != typeof o3 && "function" != typeof o3 ? (f4 = r3 + h3, (o3 = n2.__k[r3] = "string" == typeof o3 || "number" == typeof o3 || "bigint" == typeof o3 || o3.constructor == String ? m(null, o3, null, null, null) : w(o3) ? m(k, { children: o3 }, null, null, null) : null == o3.constructor && o3.__b > 0 ? m(o3.type, o3.props, o3.key, o3.ref ? o3.ref : null, o3.__v) : o3).__ = n2, o3.__b = n2.__b + 1, e3 = null, -1 != (c3 = o3.__i = L(o3, u4, f4, a3)) && (a3--, (e3 = u4[c3]) && (e3.__u |= 2)), null == e3 || null == e3.__v ? (-1 == c3 && (i4 > s3 ? h3-- : i4 < s3 && h3++), "function" != typeof o3.type && (o3.__u |= 4)) : c3 != f4 && (c3 == f4 - 1 ? h3-- : c3 == f4 + 1 ? h3++ : (c3 > f4 ? h3-- : h3++, o3.__u |= 4))) : n2.__k[r3] = null;
    if (a3)
      for (r3 = 0; r3 < s3; r3++)
        null != (e3 = u4[r3]) && 0 == (2 & e3.__u) && (e3.__e == t3 && (t3 = S(e3)), D(e3, e3));
    return t3;
  }
  function A(n2, l3, u4, t3) {
    var i4, r3;
    if ("function" == typeof n2.type) {
      for (i4 = n2.__k, r3 = 0; i4 && r3 < i4.length; r3++)
        i4[r3] && (i4[r3].__ = n2, l3 = A(i4[r3], l3, u4, t3));
      return l3;
    }
    n2.__e != l3 && (t3 && (l3 && n2.type && !l3.parentNode && (l3 = S(n2)), u4.insertBefore(n2.__e, l3 || null)), l3 = n2.__e);
    do {
      l3 = l3 && l3.nextSibling;
    } while (null != l3 && 8 == l3.nodeType);
    return l3;
  }
  function L(n2, l3, u4, t3) {
    var i4, r3, o3, e3 = n2.key, f4 = n2.type, c3 = l3[u4], s3 = null != c3 && 0 == (2 & c3.__u);
    if (null === c3 && null == n2.key || s3 && e3 == c3.key && f4 == c3.type)
      return u4;
    if (t3 > (s3 ? 1 : 0)) {
      for (i4 = u4 - 1, r3 = u4 + 1; i4 >= 0 || r3 < l3.length; )
        if (null != (c3 = l3[o3 = i4 >= 0 ? i4-- : r3++]) && 0 == (2 & c3.__u) && e3 == c3.key && f4 == c3.type)
          return o3;
    }
    return -1;
  }
  function T(n2, l3, u4) {
    "-" == l3[0] ? n2.setProperty(l3, null == u4 ? "" : u4) : n2[l3] = null == u4 ? "" : "number" != typeof u4 || y.test(l3) ? u4 : u4 + "px";
  }
  function j(n2, l3, u4, t3, i4) {
    var r3, o3;
    n:
      if ("style" == l3)
        if ("string" == typeof u4)
          n2.style.cssText = u4;
        else {
          if ("string" == typeof t3 && (n2.style.cssText = t3 = ""), t3)
            for (l3 in t3)
              u4 && l3 in u4 || T(n2.style, l3, "");
          if (u4)
            for (l3 in u4)
              t3 && u4[l3] == t3[l3] || T(n2.style, l3, u4[l3]);
        }
      else if ("o" == l3[0] && "n" == l3[1])
        r3 = l3 != (l3 = l3.replace(f, "$1")), o3 = l3.toLowerCase(), l3 = o3 in n2 || "onFocusOut" == l3 || "onFocusIn" == l3 ? o3.slice(2) : l3.slice(2), n2.l || (n2.l = {}), n2.l[l3 + r3] = u4, u4 ? t3 ? u4.u = t3.u : (u4.u = c, n2.addEventListener(l3, r3 ? a : s, r3)) : n2.removeEventListener(l3, r3 ? a : s, r3);
      else {
        if ("http://www.w3.org/2000/svg" == i4)
          l3 = l3.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
        else if ("width" != l3 && "height" != l3 && "href" != l3 && "list" != l3 && "form" != l3 && "tabIndex" != l3 && "download" != l3 && "rowSpan" != l3 && "colSpan" != l3 && "role" != l3 && "popover" != l3 && l3 in n2)
          try {
            n2[l3] = null == u4 ? "" : u4;
            break n;
          } catch (n3) {
          }
        "function" == typeof u4 || (null == u4 || false === u4 && "-" != l3[4] ? n2.removeAttribute(l3) : n2.setAttribute(l3, "popover" == l3 && 1 == u4 ? "" : u4));
      }
  }
  function F(n2) {
    return function(u4) {
      if (this.l) {
        var t3 = this.l[u4.type + n2];
        if (null == u4.t)
          u4.t = c++;
        else if (u4.t < t3.u)
          return;
        return t3(l.event ? l.event(u4) : u4);
      }
    };
  }
  function O(n2, u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, p3, v3, y3, _3, m3, b, S2, C3, M2, $2, P2, A3, H, L2, T3, j3 = u4.type;
    if (null != u4.constructor)
      return null;
    128 & t3.__u && (c3 = !!(32 & t3.__u), o3 = [f4 = u4.__e = t3.__e]), (a3 = l.__b) && a3(u4);
    n:
      if ("function" == typeof j3)
        try {
          if (b = u4.props, S2 = "prototype" in j3 && j3.prototype.render, C3 = (a3 = j3.contextType) && i4[a3.__c], M2 = a3 ? C3 ? C3.props.value : a3.__ : i4, t3.__c ? m3 = (h3 = u4.__c = t3.__c).__ = h3.__E : (S2 ? u4.__c = h3 = new j3(b, M2) : (u4.__c = h3 = new x(b, M2), h3.constructor = j3, h3.render = E), C3 && C3.sub(h3), h3.props = b, h3.state || (h3.state = {}), h3.context = M2, h3.__n = i4, p3 = h3.__d = true, h3.__h = [], h3._sb = []), S2 && null == h3.__s && (h3.__s = h3.state), S2 && null != j3.getDerivedStateFromProps && (h3.__s == h3.state && (h3.__s = d({}, h3.__s)), d(h3.__s, j3.getDerivedStateFromProps(b, h3.__s))), v3 = h3.props, y3 = h3.state, h3.__v = u4, p3)
            S2 && null == j3.getDerivedStateFromProps && null != h3.componentWillMount && h3.componentWillMount(), S2 && null != h3.componentDidMount && h3.__h.push(h3.componentDidMount);
          else {
            if (S2 && null == j3.getDerivedStateFromProps && b !== v3 && null != h3.componentWillReceiveProps && h3.componentWillReceiveProps(b, M2), !h3.__e && null != h3.shouldComponentUpdate && false === h3.shouldComponentUpdate(b, h3.__s, M2) || u4.__v == t3.__v) {
              for (u4.__v != t3.__v && (h3.props = b, h3.state = h3.__s, h3.__d = false), u4.__e = t3.__e, u4.__k = t3.__k, u4.__k.some(function(n3) {
                n3 && (n3.__ = u4);
              }), $2 = 0; $2 < h3._sb.length; $2++)
                h3.__h.push(h3._sb[$2]);
              h3._sb = [], h3.__h.length && e3.push(h3);
              break n;
            }
            null != h3.componentWillUpdate && h3.componentWillUpdate(b, h3.__s, M2), S2 && null != h3.componentDidUpdate && h3.__h.push(function() {
              h3.componentDidUpdate(v3, y3, _3);
            });
          }
          if (h3.context = M2, h3.props = b, h3.__P = n2, h3.__e = false, P2 = l.__r, A3 = 0, S2) {
            for (h3.state = h3.__s, h3.__d = false, P2 && P2(u4), a3 = h3.render(h3.props, h3.state, h3.context), H = 0; H < h3._sb.length; H++)
              h3.__h.push(h3._sb[H]);
            h3._sb = [];
          } else
            do {
              h3.__d = false, P2 && P2(u4), a3 = h3.render(h3.props, h3.state, h3.context), h3.state = h3.__s;
            } while (h3.__d && ++A3 < 25);
          h3.state = h3.__s, null != h3.getChildContext && (i4 = d(d({}, i4), h3.getChildContext())), S2 && !p3 && null != h3.getSnapshotBeforeUpdate && (_3 = h3.getSnapshotBeforeUpdate(v3, y3)), L2 = a3, null != a3 && a3.type === k && null == a3.key && (L2 = V(a3.props.children)), f4 = I(n2, w(L2) ? L2 : [L2], u4, t3, i4, r3, o3, e3, f4, c3, s3), h3.base = u4.__e, u4.__u &= -161, h3.__h.length && e3.push(h3), m3 && (h3.__E = h3.__ = null);
        } catch (n3) {
          if (u4.__v = null, c3 || null != o3)
            if (n3.then) {
              for (u4.__u |= c3 ? 160 : 128; f4 && 8 == f4.nodeType && f4.nextSibling; )
                f4 = f4.nextSibling;
              o3[o3.indexOf(f4)] = null, u4.__e = f4;
            } else {
              for (T3 = o3.length; T3--; )
                g(o3[T3]);
              z(u4);
            }
          else
            u4.__e = t3.__e, u4.__k = t3.__k, n3.then || z(u4);
          l.__e(n3, u4, t3);
        }
      else
        null == o3 && u4.__v == t3.__v ? (u4.__k = t3.__k, u4.__e = t3.__e) : f4 = u4.__e = q(t3.__e, u4, t3, i4, r3, o3, e3, c3, s3);
    return (a3 = l.diffed) && a3(u4), 128 & u4.__u ? void 0 : f4;
  }
  function z(n2) {
    n2 && n2.__c && (n2.__c.__e = true), n2 && n2.__k && n2.__k.forEach(z);
  }
  function N(n2, u4, t3) {
    for (var i4 = 0; i4 < t3.length; i4++)
      B(t3[i4], t3[++i4], t3[++i4]);
    l.__c && l.__c(u4, n2), n2.some(function(u5) {
      try {
        n2 = u5.__h, u5.__h = [], n2.some(function(n3) {
          n3.call(u5);
        });
      } catch (n3) {
        l.__e(n3, u5.__v);
      }
    });
  }
  function V(n2) {
    return "object" != typeof n2 || null == n2 || n2.__b && n2.__b > 0 ? n2 : w(n2) ? n2.map(V) : d({}, n2);
  }
  function q(u4, t3, i4, r3, o3, e3, f4, c3, s3) {
    var a3, h3, v3, y3, d3, _3, m3, b = i4.props, k3 = t3.props, x2 = t3.type;
    if ("svg" == x2 ? o3 = "http://www.w3.org/2000/svg" : "math" == x2 ? o3 = "http://www.w3.org/1998/Math/MathML" : o3 || (o3 = "http://www.w3.org/1999/xhtml"), null != e3) {
      for (a3 = 0; a3 < e3.length; a3++)
        if ((d3 = e3[a3]) && "setAttribute" in d3 == !!x2 && (x2 ? d3.localName == x2 : 3 == d3.nodeType)) {
          u4 = d3, e3[a3] = null;
          break;
        }
    }
    if (null == u4) {
      if (null == x2)
        return document.createTextNode(k3);
      u4 = document.createElementNS(o3, x2, k3.is && k3), c3 && (l.__m && l.__m(t3, e3), c3 = false), e3 = null;
    }
    if (null == x2)
      b === k3 || c3 && u4.data == k3 || (u4.data = k3);
    else {
      if (e3 = e3 && n.call(u4.childNodes), b = i4.props || p, !c3 && null != e3)
        for (b = {}, a3 = 0; a3 < u4.attributes.length; a3++)
          b[(d3 = u4.attributes[a3]).name] = d3.value;
      for (a3 in b)
        if (d3 = b[a3], "children" == a3)
          ;
        else if ("dangerouslySetInnerHTML" == a3)
          v3 = d3;
        else if (!(a3 in k3)) {
          if ("value" == a3 && "defaultValue" in k3 || "checked" == a3 && "defaultChecked" in k3)
            continue;
          j(u4, a3, null, d3, o3);
        }
      for (a3 in k3)
        d3 = k3[a3], "children" == a3 ? y3 = d3 : "dangerouslySetInnerHTML" == a3 ? h3 = d3 : "value" == a3 ? _3 = d3 : "checked" == a3 ? m3 = d3 : c3 && "function" != typeof d3 || b[a3] === d3 || j(u4, a3, d3, b[a3], o3);
      if (h3)
        c3 || v3 && (h3.__html == v3.__html || h3.__html == u4.innerHTML) || (u4.innerHTML = h3.__html), t3.__k = [];
      else if (v3 && (u4.innerHTML = ""), I("template" == t3.type ? u4.content : u4, w(y3) ? y3 : [y3], t3, i4, r3, "foreignObject" == x2 ? "http://www.w3.org/1999/xhtml" : o3, e3, f4, e3 ? e3[0] : i4.__k && S(i4, 0), c3, s3), null != e3)
        for (a3 = e3.length; a3--; )
          g(e3[a3]);
      c3 || (a3 = "value", "progress" == x2 && null == _3 ? u4.removeAttribute("value") : null != _3 && (_3 !== u4[a3] || "progress" == x2 && !_3 || "option" == x2 && _3 != b[a3]) && j(u4, a3, _3, b[a3], o3), a3 = "checked", null != m3 && m3 != u4[a3] && j(u4, a3, m3, b[a3], o3));
    }
    return u4;
  }
  function B(n2, u4, t3) {
    try {
      if ("function" == typeof n2) {
        var i4 = "function" == typeof n2.__u;
        i4 && n2.__u(), i4 && null == u4 || (n2.__u = n2(u4));
      } else
        n2.current = u4;
    } catch (n3) {
      l.__e(n3, t3);
    }
  }
  function D(n2, u4, t3) {
    var i4, r3;
    if (l.unmount && l.unmount(n2), (i4 = n2.ref) && (i4.current && i4.current != n2.__e || B(i4, null, u4)), null != (i4 = n2.__c)) {
      if (i4.componentWillUnmount)
        try {
          i4.componentWillUnmount();
        } catch (n3) {
          l.__e(n3, u4);
        }
      i4.base = i4.__P = null;
    }
    if (i4 = n2.__k)
      for (r3 = 0; r3 < i4.length; r3++)
        i4[r3] && D(i4[r3], u4, t3 || "function" != typeof n2.type);
    t3 || g(n2.__e), n2.__c = n2.__ = n2.__e = void 0;
  }
  function E(n2, l3, u4) {
    return this.constructor(n2, u4);
  }
  function G(u4, t3, i4) {
    var r3, o3, e3, f4;
    t3 == document && (t3 = document.documentElement), l.__ && l.__(u4, t3), o3 = (r3 = "function" == typeof i4) ? null : i4 && i4.__k || t3.__k, e3 = [], f4 = [], O(t3, u4 = (!r3 && i4 || t3).__k = _(k, null, [u4]), o3 || p, p, t3.namespaceURI, !r3 && i4 ? [i4] : o3 ? null : t3.firstChild ? n.call(t3.childNodes) : null, e3, !r3 && i4 ? i4 : o3 ? o3.__e : t3.firstChild, r3, f4), N(e3, u4, f4);
  }
  n = v.slice, l = { __e: function(n2, l3, u4, t3) {
    for (var i4, r3, o3; l3 = l3.__; )
      if ((i4 = l3.__c) && !i4.__)
        try {
          if ((r3 = i4.constructor) && null != r3.getDerivedStateFromError && (i4.setState(r3.getDerivedStateFromError(n2)), o3 = i4.__d), null != i4.componentDidCatch && (i4.componentDidCatch(n2, t3 || {}), o3 = i4.__d), o3)
            return i4.__E = i4;
        } catch (l4) {
          n2 = l4;
        }
    throw n2;
  } }, u = 0, t = function(n2) {
    return null != n2 && null == n2.constructor;
  }, x.prototype.setState = function(n2, l3) {
    var u4;
    u4 = null != this.__s && this.__s != this.state ? this.__s : this.__s = d({}, this.state), "function" == typeof n2 && (n2 = n2(d({}, u4), this.props)), n2 && d(u4, n2), null != n2 && this.__v && (l3 && this._sb.push(l3), M(this));
  }, x.prototype.forceUpdate = function(n2) {
    this.__v && (this.__e = true, n2 && this.__h.push(n2), M(this));
  }, x.prototype.render = k, i = [], o = "function" == typeof Promise ? Promise.prototype.then.bind(Promise.resolve()) : setTimeout, e = function(n2, l3) {
    return n2.__v.__b - l3.__v.__b;
  }, $.__r = 0, f = /(PointerCapture)$|Capture$/i, c = 0, s = F(false), a = F(true), h = 0;

  // node_modules/preact/hooks/dist/hooks.module.js
  var t2;
  var r2;
  var u2;
  var i2;
  var o2 = 0;
  var f2 = [];
  var c2 = l;
  var e2 = c2.__b;
  var a2 = c2.__r;
  var v2 = c2.diffed;
  var l2 = c2.__c;
  var m2 = c2.unmount;
  var s2 = c2.__;
  function p2(n2, t3) {
    c2.__h && c2.__h(r2, n2, o2 || t3), o2 = 0;
    var u4 = r2.__H || (r2.__H = { __: [], __h: [] });
    return n2 >= u4.__.length && u4.__.push({}), u4.__[n2];
  }
  function d2(n2) {
    return o2 = 1, h2(D2, n2);
  }
  function h2(n2, u4, i4) {
    var o3 = p2(t2++, 2);
    if (o3.t = n2, !o3.__c && (o3.__ = [i4 ? i4(u4) : D2(void 0, u4), function(n3) {
      var t3 = o3.__N ? o3.__N[0] : o3.__[0], r3 = o3.t(t3, n3);
      t3 !== r3 && (o3.__N = [r3, o3.__[1]], o3.__c.setState({}));
    }], o3.__c = r2, !r2.__f)) {
      var f4 = function(n3, t3, r3) {
        if (!o3.__c.__H)
          return true;
        var u5 = o3.__c.__H.__.filter(function(n4) {
          return !!n4.__c;
        });
        if (u5.every(function(n4) {
          return !n4.__N;
        }))
          return !c3 || c3.call(this, n3, t3, r3);
        var i5 = o3.__c.props !== n3;
        return u5.forEach(function(n4) {
          if (n4.__N) {
            var t4 = n4.__[0];
            n4.__ = n4.__N, n4.__N = void 0, t4 !== n4.__[0] && (i5 = true);
          }
        }), c3 && c3.call(this, n3, t3, r3) || i5;
      };
      r2.__f = true;
      var c3 = r2.shouldComponentUpdate, e3 = r2.componentWillUpdate;
      r2.componentWillUpdate = function(n3, t3, r3) {
        if (this.__e) {
          var u5 = c3;
          c3 = void 0, f4(n3, t3, r3), c3 = u5;
        }
        e3 && e3.call(this, n3, t3, r3);
      }, r2.shouldComponentUpdate = f4;
    }
    return o3.__N || o3.__;
  }
  function y2(n2, u4) {
    var i4 = p2(t2++, 3);
    !c2.__s && C2(i4.__H, u4) && (i4.__ = n2, i4.u = u4, r2.__H.__h.push(i4));
  }
  function _2(n2, u4) {
    var i4 = p2(t2++, 4);
    !c2.__s && C2(i4.__H, u4) && (i4.__ = n2, i4.u = u4, r2.__h.push(i4));
  }
  function A2(n2) {
    return o2 = 5, T2(function() {
      return { current: n2 };
    }, []);
  }
  function T2(n2, r3) {
    var u4 = p2(t2++, 7);
    return C2(u4.__H, r3) && (u4.__ = n2(), u4.__H = r3, u4.__h = n2), u4.__;
  }
  function j2() {
    for (var n2; n2 = f2.shift(); )
      if (n2.__P && n2.__H)
        try {
          n2.__H.__h.forEach(z2), n2.__H.__h.forEach(B2), n2.__H.__h = [];
        } catch (t3) {
          n2.__H.__h = [], c2.__e(t3, n2.__v);
        }
  }
  c2.__b = function(n2) {
    r2 = null, e2 && e2(n2);
  }, c2.__ = function(n2, t3) {
    n2 && t3.__k && t3.__k.__m && (n2.__m = t3.__k.__m), s2 && s2(n2, t3);
  }, c2.__r = function(n2) {
    a2 && a2(n2), t2 = 0;
    var i4 = (r2 = n2.__c).__H;
    i4 && (u2 === r2 ? (i4.__h = [], r2.__h = [], i4.__.forEach(function(n3) {
      n3.__N && (n3.__ = n3.__N), n3.u = n3.__N = void 0;
    })) : (i4.__h.forEach(z2), i4.__h.forEach(B2), i4.__h = [], t2 = 0)), u2 = r2;
  }, c2.diffed = function(n2) {
    v2 && v2(n2);
    var t3 = n2.__c;
    t3 && t3.__H && (t3.__H.__h.length && (1 !== f2.push(t3) && i2 === c2.requestAnimationFrame || ((i2 = c2.requestAnimationFrame) || w2)(j2)), t3.__H.__.forEach(function(n3) {
      n3.u && (n3.__H = n3.u), n3.u = void 0;
    })), u2 = r2 = null;
  }, c2.__c = function(n2, t3) {
    t3.some(function(n3) {
      try {
        n3.__h.forEach(z2), n3.__h = n3.__h.filter(function(n4) {
          return !n4.__ || B2(n4);
        });
      } catch (r3) {
        t3.some(function(n4) {
          n4.__h && (n4.__h = []);
        }), t3 = [], c2.__e(r3, n3.__v);
      }
    }), l2 && l2(n2, t3);
  }, c2.unmount = function(n2) {
    m2 && m2(n2);
    var t3, r3 = n2.__c;
    r3 && r3.__H && (r3.__H.__.forEach(function(n3) {
      try {
        z2(n3);
      } catch (n4) {
        t3 = n4;
      }
    }), r3.__H = void 0, t3 && c2.__e(t3, r3.__v));
  };
  var k2 = "function" == typeof requestAnimationFrame;
  function w2(n2) {
    var t3, r3 = function() {
      clearTimeout(u4), k2 && cancelAnimationFrame(t3), setTimeout(n2);
    }, u4 = setTimeout(r3, 35);
    k2 && (t3 = requestAnimationFrame(r3));
  }
  function z2(n2) {
    var t3 = r2, u4 = n2.__c;
    "function" == typeof u4 && (n2.__c = void 0, u4()), r2 = t3;
  }
  function B2(n2) {
    var t3 = r2;
    n2.__c = n2.__(), r2 = t3;
  }
  function C2(n2, t3) {
    return !n2 || n2.length !== t3.length || t3.some(function(t4, r3) {
      return t4 !== n2[r3];
    });
  }
  function D2(n2, t3) {
    return "function" == typeof t3 ? t3(n2) : t3;
  }

  // src/filter.ts
  var COLUMNS = ["event", "info", "task", "pid", "cpu", "time", "latency", "length", "depth"];
  var OPERATORS = { "==": "eq", "=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "~": "glob", contains: "has", lacks: "lacks" };
  var TOKEN = /\s*(?:(&&|\|\||==|!=|<=|>=|[<>~=()!])|"((?:[^"\\]|\\.)*)"|([^\s()!<>=~&|"]+))/y;
  var UNITS = { "": 1, ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
  function tokens(text) {
    const out = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const at = TOKEN.lastIndex, m3 = TOKEN.exec(text);
      if (!m3)
        throw new Error(`The filter cannot be read at “${text.slice(at).trim()}”.`);
      if (m3[1])
        out.push({ text: m3[1], kind: "sign", at });
      else if (m3[2] !== void 0)
        out.push({ text: m3[2].replace(/\\(.)/g, "$1"), kind: "quoted", at });
      else
        out.push({ text: m3[3], kind: "word", at });
    }
    out.push({ text: "", kind: "end", at: text.length });
    return out;
  }
  function step(column, op, value) {
    return `${column} ${op} ${value.split("\n")[0]}`;
  }
  function nanoseconds(text) {
    const m3 = /^(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|)$/.exec(text);
    if (!m3)
      throw new Error(`“${text}” is no length of time: 10us, 1.5ms, 2s.`);
    return Math.round(Number(m3[1]) * UNITS[m3[2]]);
  }
  function sinceFirst(text, first) {
    const m3 = /^(\d+)(?:\.(\d{1,9}))?$/.exec(text);
    if (!m3)
      throw new Error(`“${text}” is no time: seconds as the list has them, 12.345678901.`);
    return Number(BigInt(m3[1]) * 1000000000n + BigInt((m3[2] || "").padEnd(9, "0")) - BigInt(first));
  }
  function comparison(column, op, value, first) {
    const known = COLUMNS.includes(column.toLowerCase()) ? column.toLowerCase() : `.${column}`;
    if (known === "length" && !["has", "lacks", "glob"].includes(op))
      return [step(known, op, String(nanoseconds(value)))];
    if (known === "time" && !["has", "lacks", "glob"].includes(op))
      return [step(known, op, String(sinceFirst(value, first)))];
    if (known === "event" && !value.includes(":") && (op === "eq" || op === "ne")) {
      const both = [step(known, "eq", value), step(known, "glob", `*:${value.replace(/[*?[\\]/g, "\\$&")}`), "or"];
      return op === "eq" ? both : [...both, "not"];
    }
    return [step(known, op, value)];
  }
  function parseFilter(text, first) {
    const all = tokens(text);
    let at = 0;
    const take = (sign) => all[at].kind === "sign" && all[at].text === sign && !!++at;
    const term2 = () => {
      if (take("!"))
        return [...term2(), "not"];
      if (take("(")) {
        const inner = either();
        if (!take(")"))
          throw new Error("A ) is missing in the filter.");
        return inner;
      }
      const name = all[at++];
      if (name.kind === "sign" || name.kind === "end")
        throw new Error(`The filter has no condition ${name.kind === "end" ? "at its end" : `before “${name.text}”`}.`);
      const op = all[at].kind === "quoted" ? void 0 : OPERATORS[all[at].text];
      if (!op)
        return [step("event", "has", name.text), step("info", "has", name.text), "or"];
      const sign = all[at++], value = all[at++];
      if (value.kind === "sign" || value.kind === "end")
        throw new Error(`The filter has no value behind “${name.text} ${sign.text}”.`);
      return comparison(name.text, op, value.text, first);
    };
    const both = () => {
      const steps2 = term2();
      while (take("&&"))
        steps2.push(...term2(), "and");
      return steps2;
    };
    const either = () => {
      const steps2 = both();
      while (take("||"))
        steps2.push(...both(), "or");
      return steps2;
    };
    if (all[0].kind === "end")
      return "";
    const steps = either();
    if (all[at].kind !== "end")
      throw new Error(`The filter has “${all[at].text}” where && or || is expected.`);
    return steps.join("\n");
  }
  var SEARCH_COLUMNS = ["any", "event", "info", "task", "pid", "cpu", "latency", "expression"];
  function searchSteps(text, column, mode, first) {
    if (column === "expression")
      return parseFilter(text, first);
    const op = { contains: "has", is: "eq", lacks: "lacks" }[mode];
    if (column !== "any")
      return mode === "is" ? comparison(column, op, text, first).join("\n") : step(column, op, text);
    const any = ["event", "info", "task"].map((c3) => mode === "is" ? comparison(c3, "eq", text, first).join("\n") : step(c3, "has", text));
    return [any[0], any[1], "or", any[2], "or", ...mode === "lacks" ? ["not"] : []].join("\n");
  }
  function quote(text) {
    return /^[\w.:/-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
  }
  function andFilter(text, more) {
    if (!text.trim())
      return more;
    return `${text.includes("||") ? `(${text.trim()})` : text.trim()} && ${more}`;
  }

  // src/format.ts
  var UNITS2 = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
  function duration(ns) {
    for (const [unit, name] of UNITS2)
      if (Math.abs(ns) >= unit)
        return `${(ns / unit).toFixed(3)} ${name}`;
    return `${Math.round(ns)} ns`;
  }
  function tick(ns, step2) {
    const [unit, name] = UNITS2.find(([u4]) => Math.abs(ns) >= u4 || step2 >= u4) || [1, "ns"];
    const digits = Math.max(0, Math.ceil(Math.log10(unit / step2) - 1e-9));
    return `${(ns / unit).toFixed(Math.min(9, digits))} ${name}`;
  }
  function clockTime(first, ns) {
    const t3 = BigInt(first) + BigInt(Math.round(ns));
    const s3 = t3 / 1000000000n;
    return `${s3}.${String(t3 % 1000000000n).padStart(9, "0")}`;
  }
  var HUES = 24;
  function colourNumber(n2) {
    return (n2 * 2654435761 >>> 0) % (HUES * 3);
  }
  function channel(n2, hue, saturation, light) {
    const k3 = (n2 + hue / 30) % 12;
    return Math.round(255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k3 - 3, 9 - k3, 1))));
  }
  var PIXELS = new Uint32Array(HUES * 3);
  var COLOURS = [];
  for (let i4 = 0; i4 < HUES * 3; i4++) {
    const hue = i4 % HUES * 360 / HUES, light = [0.72, 0.66, 0.8][Math.floor(i4 / HUES)];
    const [r3, g2, b] = [channel(0, hue, 0.55, light), channel(8, hue, 0.55, light), channel(4, hue, 0.55, light)];
    PIXELS[i4] = (255 << 24 | b << 16 | g2 << 8 | r3) >>> 0;
    COLOURS.push(`rgb(${r3},${g2},${b})`);
  }

  // node_modules/preact/jsx-runtime/dist/jsxRuntime.module.js
  var f3 = 0;
  var i3 = Array.isArray;
  function u3(e3, t3, n2, o3, i4, u4) {
    t3 || (t3 = {});
    var a3, c3, p3 = t3;
    if ("ref" in p3)
      for (c3 in p3 = {}, t3)
        "ref" == c3 ? a3 = t3[c3] : p3[c3] = t3[c3];
    var l3 = { type: e3, props: p3, key: n2, ref: a3, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: void 0, __v: --f3, __i: -1, __u: 0, __source: i4, __self: u4 };
    if ("function" == typeof e3 && (a3 = e3.defaultProps))
      for (c3 in a3)
        void 0 === p3[c3] && (p3[c3] = a3[c3]);
    return l.vnode && l.vnode(l3), l3;
  }

  // src/bar.tsx
  var COLUMN_TITLES = { any: "anywhere", event: "Event", info: "Info", task: "Task", pid: "PID", cpu: "CPU", latency: "Latency", expression: "expression" };
  function Bar({ v: v3 }) {
    const g2 = v3.graph, { a: a3, b } = g2.markers;
    const dialog = (what) => () => {
      v3.dialog = v3.dialog === what ? null : what;
      v3.changed();
    };
    return /* @__PURE__ */ u3("header", { class: "bar", children: [
      /* @__PURE__ */ u3("h1", { title: v3.info.uname, children: v3.info.command || v3.info.path }),
      /* @__PURE__ */ u3(SearchBox, { v: v3 }),
      /* @__PURE__ */ u3(FilterBox, { v: v3 }),
      /* @__PURE__ */ u3("label", { children: [
        "Tracks",
        /* @__PURE__ */ u3("input", { type: "search", value: g2.layout.titleFilter, onInput: (e3) => v3.showTracks(e3.currentTarget.value), "aria-label": "Show only tracks with this text" })
      ] }),
      /* @__PURE__ */ u3("button", { onClick: dialog("tracks"), "aria-expanded": v3.dialog === "tracks", children: "Tracks…" }),
      /* @__PURE__ */ u3("button", { onClick: dialog("newplot"), "aria-expanded": v3.dialog === "newplot", children: "Add plot…" }),
      /* @__PURE__ */ u3("button", { onClick: () => v3.zoom(0.7), "aria-label": "Zoom in", children: "+" }),
      /* @__PURE__ */ u3("button", { onClick: () => v3.zoom(1.4), "aria-label": "Zoom out", children: "−" }),
      /* @__PURE__ */ u3("button", { onClick: () => g2.show(0, v3.info.duration), children: "All" }),
      /* @__PURE__ */ u3("button", { onClick: () => {
        v3.marker = v3.marker === "a" ? "b" : "a";
        v3.changed();
      }, "aria-label": "Which marker a click sets", children: [
        "Marker ",
        v3.marker.toUpperCase()
      ] }),
      /* @__PURE__ */ u3("button", { onClick: () => v3.save(), children: "Save" }),
      /* @__PURE__ */ u3("label", { class: "file", children: [
        "Open",
        /* @__PURE__ */ u3("input", { id: "session", type: "file", accept: "application/json,.json", onChange: (e3) => {
          const [file] = Array.from(e3.currentTarget.files || []);
          e3.currentTarget.value = "";
          if (file)
            file.text().then((text) => v3.open(text), v3.failed);
        } })
      ] }),
      /* @__PURE__ */ u3("button", { onClick: dialog("palette"), "aria-label": "Commands", children: "⌘" }),
      /* @__PURE__ */ u3("button", { onClick: () => v3.setDark(!v3.dark), children: v3.dark ? "Light" : "Dark" }),
      /* @__PURE__ */ u3("button", { onClick: dialog("help"), "aria-expanded": v3.dialog === "help", children: "Help" }),
      /* @__PURE__ */ u3("output", { class: "marks", children: [
        a3 !== null && `A ${clockTime(v3.info.first, a3)} `,
        b !== null && `B ${clockTime(v3.info.first, b)} `,
        a3 !== null && b !== null && `B − A ${duration(b - a3)}`
      ] }),
      /* @__PURE__ */ u3("output", { class: "busy", "aria-live": "polite", children: v3.busy && `${v3.busy} …` }),
      v3.info.live && /* @__PURE__ */ u3("span", { class: "live", children: "live" }),
      /* @__PURE__ */ u3("span", { class: "shown", children: [
        duration(v3.range.to - v3.range.from),
        " shown"
      ] })
    ] });
  }
  function SearchBox({ v: v3 }) {
    const { searchInput: input } = v3;
    const set = (what) => {
      v3.searchInput = { ...input, ...what };
      v3.found = "";
      v3.changed();
    };
    return /* @__PURE__ */ u3("span", { class: "box", role: "search", children: [
      /* @__PURE__ */ u3("label", { for: "search", children: "Search" }),
      /* @__PURE__ */ u3("select", { "aria-label": "Column to search", value: input.column, onChange: (e3) => set({ column: e3.currentTarget.value }), children: SEARCH_COLUMNS.map((c3) => /* @__PURE__ */ u3("option", { value: c3, children: COLUMN_TITLES[c3] })) }),
      /* @__PURE__ */ u3("select", { "aria-label": "How it is to match", value: input.mode, disabled: input.column === "expression", onChange: (e3) => set({ mode: e3.currentTarget.value }), children: [
        /* @__PURE__ */ u3("option", { value: "contains", children: "contains" }),
        /* @__PURE__ */ u3("option", { value: "is", children: "full match" }),
        /* @__PURE__ */ u3("option", { value: "lacks", children: "does not have" })
      ] }),
      /* @__PURE__ */ u3(
        "input",
        {
          id: "search",
          type: "search",
          value: input.text,
          onInput: (e3) => set({ text: e3.currentTarget.value }),
          onKeyDown: (e3) => e3.key === "Enter" && v3.find(e3.shiftKey),
          "aria-label": "Search names and texts"
        }
      ),
      /* @__PURE__ */ u3("button", { onClick: () => v3.find(true), "aria-label": "Previous match", children: "◀" }),
      /* @__PURE__ */ u3("button", { onClick: () => v3.find(false), "aria-label": "Next match", children: "▶" }),
      v3.search && /* @__PURE__ */ u3("button", { onClick: () => v3.stopSearch(), children: "Stop" }),
      /* @__PURE__ */ u3("output", { class: "found", "aria-live": "polite", children: v3.found })
    ] });
  }
  function FilterBox({ v: v3 }) {
    const [text, setText] = d2(null);
    const { filter } = v3;
    const use = () => {
      if (text !== null)
        v3.setFilter(text, filter.graph, filter.list);
      setText(null);
    };
    return /* @__PURE__ */ u3("span", { class: "box", children: [
      /* @__PURE__ */ u3("label", { for: "filter", children: "Filter" }),
      /* @__PURE__ */ u3(
        "input",
        {
          id: "filter",
          class: "wide",
          type: "search",
          value: text ?? filter.text,
          placeholder: "event == sched_switch && prev_pid == 1",
          "aria-label": "Filter expression",
          onInput: (e3) => setText(e3.currentTarget.value),
          onBlur: use,
          onKeyDown: (e3) => e3.key === "Enter" && use(),
          onSearch: use
        }
      ),
      /* @__PURE__ */ u3("label", { children: [
        /* @__PURE__ */ u3("input", { type: "checkbox", checked: filter.graph, onChange: (e3) => v3.setFilter(text ?? filter.text, e3.currentTarget.checked, filter.list) }),
        "graph"
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        /* @__PURE__ */ u3("input", { type: "checkbox", checked: filter.list, onChange: (e3) => v3.setFilter(text ?? filter.text, filter.graph, e3.currentTarget.checked) }),
        "list"
      ] }),
      /* @__PURE__ */ u3("button", { onClick: () => {
        v3.dialog = v3.dialog === "filter" ? null : "filter";
        v3.changed();
      }, "aria-label": "Choose events, threads and CPUs", children: "…" })
    ] });
  }

  // src/layout.ts
  var HEIGHTS = { cpu: 18, "cpu-events": 13, states: 13, events: 13, calls: 16, plot: 16 };
  var GAP = 6;
  var GROUP_HEIGHT = 18;
  var SCALE = 24;
  var PLOT_HEIGHT = 64;
  function isCpu(track) {
    return track.kind === "cpu" || track.kind === "cpu-events";
  }
  function isEvents(track) {
    return track.kind === "events" || track.kind === "cpu-events";
  }
  function trackTitle(track) {
    if (track.plot)
      return track.plot.title;
    if (track.kind === "cpu")
      return `CPU ${track.id}`;
    if (track.kind === "cpu-events")
      return `CPU ${track.id} events`;
    const buffer = track.buffer ? ` of ${track.buffer}` : "";
    if (track.stack)
      return `${track.name}-${track.id} stack ${track.stack}${buffer}`;
    return `${track.name}-${track.id}${track.kind === "calls" ? "" : ` ${track.kind}`}${buffer}`;
  }
  function trackKey(track) {
    const key = [track.file, track.kind, track.id, track.stack, track.plot ? track.plot.title : ""].join(" ");
    return track.buffer ? `${key} ${track.buffer}` : key;
  }
  function vcpuKey(guest, cpu) {
    return `vcpu ${guest} ${cpu}`;
  }
  var Layout = class {
    constructor(info, tracks) {
      this.info = info;
      this.tracks = tracks;
      this.lines = [];
      this.groups = [];
      this.hidden = /* @__PURE__ */ new Set();
      // tracks
      this.pinned = [];
      this.closed = /* @__PURE__ */ new Set();
      // groups
      this.titleFilter = "";
      // only tracks with this text in their title are shown
      this.grouped = true;
      this.height = 0;
      // of all lines
      this.pinnedHeight = 0;
      if (tracks.some((t3) => t3.kind === "calls" || t3.kind === "states"))
        this.closed.add("others");
      this.arrange();
    }
    // The guest's CPU that a track shows, or that the track's thread runs: both are in one group.
    vcpu(track) {
      for (const [guest, of] of this.info.hosts.entries()) {
        for (const [cpu, tid] of of ? of[1] : [])
          if (isCpu(track) ? track.file === guest && track.id === cpu : track.file === of[0] && track.id === tid)
            return { guest, cpu, tid, host: of[0] };
      }
      return null;
    }
    groupOf(track, withCalls) {
      const file = this.info.files.length > 1 ? `${this.info.files[track.file]}: ` : "";
      if (track.plot)
        return ["plots", "Plots"];
      const vcpu = this.vcpu(track);
      if (vcpu)
        return [vcpuKey(vcpu.guest, vcpu.cpu), `${this.info.files[vcpu.guest]}: CPU ${vcpu.cpu}, thread ${vcpu.tid} of ${this.info.files[vcpu.host]}`];
      if (isCpu(track))
        return [`cpus ${track.file}`, `${file}CPUs`];
      const process = track.pid || track.id, key = `process ${track.file} ${process}`;
      if (!withCalls.has(key))
        return ["others", "Other threads"];
      const main = this.info.tracks.find((t3) => t3.file === track.file && t3.id === process) || track;
      return [key, `${file}${main.name} (process ${process})`];
    }
    arrange() {
      const shown = this.tracks.map((_3, i4) => i4).filter((i4) => !this.hidden.has(i4) && trackTitle(this.tracks[i4]).toLowerCase().includes(this.titleFilter.toLowerCase()));
      const withCalls = new Set(this.tracks.flatMap((t3) => t3.kind === "calls" || t3.kind === "states" ? [`process ${t3.file} ${t3.pid || t3.id}`] : []));
      if (!withCalls.size)
        this.tracks.forEach((t3) => withCalls.add(`process ${t3.file} ${t3.pid || t3.id}`));
      const groups = /* @__PURE__ */ new Map([["plots", { title: "Plots", tracks: [] }]]);
      this.info.hosts.forEach((of, guest) => of && of[1].forEach(([cpu]) => groups.set(vcpuKey(guest, cpu), { title: "", tracks: [] })));
      for (const i4 of shown.filter((s3) => !this.pinned.includes(s3))) {
        const [key, title] = this.groupOf(this.tracks[i4], withCalls);
        if (!groups.has(key))
          groups.set(key, { title, tracks: [] });
        Object.assign(groups.get(key), { title }).tracks.push(i4);
      }
      const others = groups.get("others");
      if (others && groups.delete("others"))
        groups.set("others", others);
      this.lines = [];
      this.groups = [];
      let top = SCALE;
      const put = (i4, pinned) => {
        const track = this.tracks[i4], height = track.plot && track.plot.shape !== "spans" ? PLOT_HEIGHT : HEIGHTS[track.kind];
        track.rows.forEach((_3, row) => {
          this.lines.push({ track: i4, row, top, height, pinned });
          top += height;
        });
      };
      for (const i4 of this.pinned.filter((p3) => shown.includes(p3)))
        put(i4, true);
      this.pinnedHeight = top - SCALE;
      for (const [key, { title, tracks }] of groups) {
        if (!tracks.length)
          continue;
        const closed = this.closed.has(key) && !this.titleFilter;
        if (this.grouped) {
          this.groups.push({ key, title, top, closed, tracks: tracks.length });
          top += GROUP_HEIGHT;
        }
        if (this.grouped && closed)
          continue;
        tracks.forEach((i4, n2) => {
          const before = tracks[n2 - 1];
          if (n2 && (this.tracks[before].id !== this.tracks[i4].id || this.tracks[i4].plot))
            top += GAP;
          put(i4, false);
        });
      }
      this.height = top + GAP;
    }
    // Make a track visible: it is no longer hidden, and its group is opened.
    reveal(track) {
      if (this.hidden.delete(track) || !this.lines.some((l3) => l3.track === track)) {
        this.titleFilter = "";
        this.closed.delete(this.groupKey(track));
        this.arrange();
      }
    }
    groupKey(track) {
      const saved = [this.closed, this.hidden];
      this.closed = /* @__PURE__ */ new Set();
      this.arrange();
      const line = this.lines.find((l3) => l3.track === track);
      const group = line && [...this.groups].reverse().find((g2) => g2.top < line.top);
      [this.closed, this.hidden] = saved;
      return group ? group.key : "";
    }
  };

  // src/commands.ts
  var SHOWN = { " ": "space", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", ContextMenu: "menu" };
  function keyTitle(key) {
    const parts = key.split("+"), last = key.endsWith("+") ? "+" : parts[parts.length - 1];
    return [...parts.slice(0, key.endsWith("+") ? 0 : -1), SHOWN[last] || last].join("+");
  }
  function commands(v3) {
    const g2 = v3.graph, out = [];
    const add2 = (title, keys, run) => out.push({ title, keys, run });
    const dialog = (what) => () => {
      v3.dialog = v3.dialog === what ? null : what;
      v3.changed();
    };
    const tab = (what) => () => {
      v3.tab = what;
      v3.changed();
    };
    add2("Zoom in", ["w", "+", "="], () => v3.zoom(0.7));
    add2("Zoom out", ["s", "-"], () => v3.zoom(1.4));
    add2("Go left", ["a", "ArrowLeft"], () => g2.pan(-0.2));
    add2("Go right", ["d", "ArrowRight"], () => g2.pan(0.2));
    add2("Scroll tracks up", ["ArrowUp"], () => g2.scrollTo(g2.scroll - 40));
    add2("Scroll tracks down", ["ArrowDown"], () => g2.scrollTo(g2.scroll + 40));
    add2("Show the whole recording", ["0"], () => g2.show(0, v3.info.duration));
    add2("Zoom to what is chosen, or to the range", ["f"], () => v3.fit());
    add2("Next call of the same function", ["n"], () => v3.findSameName(false));
    add2("Previous call of the same function", ["p"], () => v3.findSameName(true));
    add2("Next in the same row", [".", "shift+ArrowRight"], () => v3.chooseBeside(1));
    add2("Previous in the same row", [",", "shift+ArrowLeft"], () => v3.chooseBeside(-1));
    add2("To the caller", ["shift+ArrowUp"], () => v3.chooseDepth(-1));
    add2("To the first call beneath", ["shift+ArrowDown"], () => v3.chooseDepth(1));
    add2("Menu of what is chosen", ["ContextMenu", "shift+F10"], () => v3.openMenu(v3.span, v3.span ? v3.span.track : -1, v3.range.from, 300, 120));
    add2("The next click sets the other marker", ["m"], () => {
      v3.marker = v3.marker === "a" ? "b" : "a";
      v3.changed();
    });
    add2("Choose the time between markers A and B", ["r"], () => {
      const { a: a3, b } = g2.markers;
      if (a3 !== null && b !== null && a3 !== b)
        v3.chooseArea({ from: Math.min(a3, b), to: Math.max(a3, b) });
    });
    add2("Critical path of what is chosen", ["c"], () => v3.showCriticalPath());
    add2("Search", ["/"], () => document.querySelector("#search").focus());
    add2("Filter", ["\\"], () => document.querySelector("#filter").focus());
    add2("Choose events, threads and CPUs to show", [], dialog("filter"));
    add2("No filter", [], () => v3.setFilter(""));
    add2("Choose tracks", ["t"], dialog("tracks"));
    add2("Add a plot", ["l"], dialog("newplot"));
    add2("Add tracks of waits for locks", [], () => v3.plot({ kind: "locks" }));
    add2("Add tracks of the holders of locks", [], () => v3.plot({ kind: "held" }));
    add2("Group tracks by process, or not", ["g"], () => {
      g2.layout.grouped = !g2.layout.grouped;
      g2.layOut();
    });
    add2("What is chosen", ["1"], tab("chosen"));
    add2("Functions of the range", ["2"], tab("table"));
    add2("Flame graph of the range", ["3"], tab("flame"));
    add2("Call tree of the range", ["4"], tab("tree"));
    add2("Compare two ranges", ["5"], tab("diff"));
    add2("Notes", ["6"], tab("notes"));
    add2("SQL", ["7"], tab("sql"));
    add2("Source of the chosen function", ["8"], tab("source"));
    add2("Save the session", ["ctrl+s"], () => v3.save());
    add2("Open a session", ["ctrl+o"], () => document.querySelector("#session").click());
    add2("Save the picture as PNG", [], () => v3.savePicture());
    add2("Compose a command that cuts the range out as a trace.dat", [], dialog("cut"));
    add2("Compose a command that records", [], dialog("record"));
    add2("Dark or light", [], () => v3.setDark(!v3.dark));
    add2("Commands", ["ctrl+k", ":"], dialog("palette"));
    add2("Help", ["?"], dialog("help"));
    return out;
  }
  function paletteEntries(v3) {
    return [
      ...commands(v3),
      ...v3.graph.tracks.map((track, i4) => ({
        title: `Go to ${trackTitle(track)}`,
        keys: [],
        run: () => {
          v3.graph.layout.reveal(i4);
          v3.graph.layOut();
          v3.graph.reveal((v3.range.from + v3.range.to) / 2, i4, 0);
        }
      }))
    ];
  }
  function keyOf(e3) {
    const key = e3.key.length === 1 ? e3.key.toLowerCase() : e3.key;
    const shift = e3.shiftKey && e3.key.length > 1;
    return `${e3.ctrlKey || e3.metaKey ? "ctrl+" : ""}${shift ? "shift+" : ""}${key}`;
  }

  // src/dialogs.tsx
  function Dialogs({ v: v3 }) {
    switch (v3.dialog) {
      case "help":
        return /* @__PURE__ */ u3(Help, { v: v3 });
      case "palette":
        return /* @__PURE__ */ u3(Palette, { v: v3 });
      case "tracks":
        return /* @__PURE__ */ u3(Tracks, { v: v3 });
      case "newplot":
        return /* @__PURE__ */ u3(NewPlot, { v: v3 });
      case "filter":
        return /* @__PURE__ */ u3(FilterLists, { v: v3 });
      case "cut":
        return /* @__PURE__ */ u3(Cut, { v: v3 });
      default:
        return /* @__PURE__ */ u3(Record, { v: v3 });
    }
  }
  function Box({ v: v3, title, children }) {
    const box = A2(null);
    _2(() => {
      box.current.querySelector("input, button, select")?.focus();
    }, []);
    return /* @__PURE__ */ u3("div", { class: "dialog", role: "dialog", "aria-label": title, ref: box, children: [
      /* @__PURE__ */ u3("h2", { children: title }),
      children,
      /* @__PURE__ */ u3("button", { class: "close", "aria-label": "Close", onClick: () => v3.escape(), children: "✕" })
    ] });
  }
  function Help({ v: v3 }) {
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Help", children: [
      /* @__PURE__ */ u3("p", { children: "Click chooses, drag goes left and right, drag with Shift chooses a range, the right button has a menu. The wheel zooms with Ctrl, and goes left and right with Shift." }),
      /* @__PURE__ */ u3("dl", { class: "help", children: commands(v3).filter((c3) => c3.keys.length).map((c3) => /* @__PURE__ */ u3(k, { children: [
        /* @__PURE__ */ u3("dt", { children: c3.keys.map(keyTitle).join(", ") }),
        /* @__PURE__ */ u3("dd", { children: c3.title })
      ] })) })
    ] });
  }
  function Palette({ v: v3 }) {
    const [text, setText] = d2("");
    const [at, setAt] = d2(0);
    const words = text.toLowerCase().split(/\s+/);
    const found = paletteEntries(v3).filter((c3) => words.every((w3) => c3.title.toLowerCase().includes(w3))).slice(0, 12);
    const run = (i4) => {
      if (!found[i4])
        return;
      v3.dialog = null;
      v3.changed();
      found[i4].run();
    };
    const key = (e3) => {
      if (e3.key === "Enter")
        run(at);
      else if (e3.key === "ArrowDown")
        setAt(Math.min(found.length - 1, at + 1));
      else if (e3.key === "ArrowUp")
        setAt(Math.max(0, at - 1));
      else
        return;
      e3.preventDefault();
      e3.stopPropagation();
    };
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Commands", children: [
      /* @__PURE__ */ u3(
        "input",
        {
          class: "wide",
          role: "combobox",
          "aria-expanded": "true",
          "aria-controls": "entries",
          "aria-activedescendant": `entry${at}`,
          "aria-label": "Command",
          value: text,
          onKeyDown: key,
          onInput: (e3) => {
            setText(e3.currentTarget.value);
            setAt(0);
          }
        }
      ),
      /* @__PURE__ */ u3("div", { id: "entries", role: "listbox", "aria-label": "Commands", children: found.map((c3, i4) => /* @__PURE__ */ u3("div", { role: "option", id: `entry${i4}`, class: "entry", "aria-selected": i4 === at, onClick: () => run(i4), children: [
        c3.title,
        " ",
        /* @__PURE__ */ u3("kbd", { children: c3.keys.map(keyTitle).join(", ") })
      ] })) })
    ] });
  }
  var KINDS = [
    ["CPUs", (v3, i4) => isCpu(v3.graph.tracks[i4])],
    ["Threads", (v3, i4) => !isCpu(v3.graph.tracks[i4]) && !v3.graph.tracks[i4].plot],
    ["Plots", (v3, i4) => !!v3.graph.tracks[i4].plot]
  ];
  function Tracks({ v: v3 }) {
    const { tracks, layout } = v3.graph;
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Tracks", children: [
      /* @__PURE__ */ u3("div", { class: "columns", children: KINDS.map(([title, is]) => {
        const those = tracks.map((_3, i4) => i4).filter((i4) => is(v3, i4));
        if (!those.length)
          return null;
        return /* @__PURE__ */ u3("fieldset", { children: [
          /* @__PURE__ */ u3("legend", { children: title }),
          /* @__PURE__ */ u3("button", { onClick: () => v3.hide(those, false), children: "All" }),
          /* @__PURE__ */ u3("button", { onClick: () => v3.hide(those, true), children: "None" }),
          /* @__PURE__ */ u3("div", { class: "checks", children: those.map((i4) => /* @__PURE__ */ u3("label", { children: [
            /* @__PURE__ */ u3("input", { type: "checkbox", checked: !layout.hidden.has(i4), onChange: (e3) => v3.hide([i4], !e3.currentTarget.checked) }),
            trackTitle(tracks[i4])
          ] })) })
        ] });
      }) }),
      /* @__PURE__ */ u3("label", { children: [
        /* @__PURE__ */ u3("input", { type: "checkbox", checked: layout.grouped, onChange: (e3) => {
          layout.grouped = e3.currentTarget.checked;
          v3.graph.layOut();
        } }),
        "Group by process"
      ] })
    ] });
  }
  function NewPlot({ v: v3 }) {
    const [pair, setPair] = d2({ from: "sched_waking", to: "sched_switch", by: "pid=next_pid" });
    const [field, setField] = d2({ events: "event == sched_stat_runtime", field: "runtime" });
    const [name, setName] = d2("");
    const add2 = (definition) => v3.plot(definition);
    const asEvent = (text) => /^[\w:]+$/.test(text) ? `event == ${text}` : text;
    const input = (label, value, set, list) => /* @__PURE__ */ u3("label", { children: [
      label,
      /* @__PURE__ */ u3("input", { class: "wide", list, value, onInput: (e3) => set(e3.currentTarget.value) })
    ] });
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Add a plot", children: [
      /* @__PURE__ */ u3("datalist", { id: "names", children: v3.info.names.slice(0, 5e3).map((n2) => /* @__PURE__ */ u3("option", { value: n2 })) }),
      /* @__PURE__ */ u3("form", { onSubmit: (e3) => {
        e3.preventDefault();
        add2({ kind: "pair", from: asEvent(pair.from), to: asEvent(pair.to), by: pair.by });
      }, children: [
        /* @__PURE__ */ u3("h3", { children: "Time between two events" }),
        input("from event or filter", pair.from, (from) => setPair({ ...pair, from }), "names"),
        input("to event or filter", pair.to, (to) => setPair({ ...pair, to }), "names"),
        input("of the same (task, cpu, all, a field, or field=field)", pair.by, (by) => setPair({ ...pair, by })),
        /* @__PURE__ */ u3("button", { children: "Add latency" })
      ] }),
      /* @__PURE__ */ u3("form", { onSubmit: (e3) => {
        e3.preventDefault();
        add2({ kind: "field", events: asEvent(field.events), field: field.field });
      }, children: [
        /* @__PURE__ */ u3("h3", { children: "Values of a field" }),
        input("of events (filter)", field.events, (events) => setField({ ...field, events }), "names"),
        input("field", field.field, (f4) => setField({ ...field, field: f4 })),
        /* @__PURE__ */ u3("button", { children: "Add field" })
      ] }),
      /* @__PURE__ */ u3("form", { onSubmit: (e3) => {
        e3.preventDefault();
        add2({ kind: "heat", name });
      }, children: [
        /* @__PURE__ */ u3("h3", { children: "How long a function took, over time" }),
        input("function", name, setName, "names"),
        /* @__PURE__ */ u3("button", { children: "Add heat map" })
      ] }),
      /* @__PURE__ */ u3("button", { onClick: () => add2({ kind: "locks" }), children: "Add tracks of waits for locks" }),
      /* @__PURE__ */ u3("button", { onClick: () => add2({ kind: "held" }), children: "Add tracks of the holders of locks" })
    ] });
  }
  function FilterLists({ v: v3 }) {
    const { info } = v3;
    const used = (kinds) => info.tracks.filter((t3) => kinds.includes(t3.kind));
    const events = info.names.filter((n2, i4) => info.objects[i4] === null && n2.includes(":"));
    const threads = [...new Map(used(["events", "calls", "states"]).map((t3) => [String(t3.id), `${t3.name}-${t3.id}`]))];
    const cpus = [...new Map(used(["cpu", "cpu-events"]).map((t3) => [String(t3.id), `CPU ${t3.id}`]))];
    const [off, setOff] = d2(/* @__PURE__ */ new Set());
    const parts = [["Events", "event", events.map((e3) => [e3, e3])], ["Threads", "pid", threads], ["CPUs", "cpu", cpus]];
    const apply = () => {
      const terms = parts.flatMap(([, column, all]) => {
        const on = all.filter(([value]) => !off.has(`${column} ${value}`)), out = all.filter(([value]) => off.has(`${column} ${value}`));
        if (!out.length)
          return [];
        const those = on.length < out.length && on.length ? on.map(([value]) => `${column} == ${quote(value)}`).join(" || ") : out.map(([value]) => `${column} != ${quote(value)}`).join(" && ");
        return [those.includes("||") ? `(${those})` : those];
      });
      v3.dialog = null;
      v3.setFilter(terms.join(" && "), v3.filter.graph, v3.filter.list);
    };
    const set = (keys, on) => {
      const next = new Set(off);
      for (const key of keys)
        on ? next.delete(key) : next.add(key);
      setOff(next);
    };
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Show only these", children: [
      /* @__PURE__ */ u3("div", { class: "columns", children: parts.map(([title, column, all]) => all.length > 0 && /* @__PURE__ */ u3("fieldset", { children: [
        /* @__PURE__ */ u3("legend", { children: title }),
        /* @__PURE__ */ u3("button", { onClick: () => set(all.map(([value]) => `${column} ${value}`), true), children: "All" }),
        /* @__PURE__ */ u3("button", { onClick: () => set(all.map(([value]) => `${column} ${value}`), false), children: "None" }),
        /* @__PURE__ */ u3("div", { class: "checks", children: all.map(([value, label]) => /* @__PURE__ */ u3("label", { children: [
          /* @__PURE__ */ u3("input", { type: "checkbox", checked: !off.has(`${column} ${value}`), onChange: (e3) => set([`${column} ${value}`], e3.currentTarget.checked) }),
          label
        ] })) })
      ] })) }),
      /* @__PURE__ */ u3("button", { onClick: apply, children: "Apply" })
    ] });
  }
  function shellWord(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
  }
  function Record({ v: v3 }) {
    const [tracer, setTracer] = d2("function_graph");
    const [events, setEvents] = d2("sched");
    const [kernel, setKernel] = d2(false);
    const [program, setProgram] = d2("./prog");
    const [output, setOutput] = d2("trace.dat");
    const words = ["vestige", "record", ...tracer ? ["-p", tracer] : [], ...kernel ? ["-k"] : [], ...events.split(/[\s,]+/).filter((e3) => e3).flatMap((e3) => ["-e", shellWord(e3)]), "-o", shellWord(output)];
    const line = `${words.join(" ")} -- ${program}`;
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Record", children: [
      /* @__PURE__ */ u3("p", { children: "This page starts no program. Copy the command into a terminal." }),
      /* @__PURE__ */ u3("label", { children: [
        "Tracer",
        /* @__PURE__ */ u3("select", { value: tracer, onChange: (e3) => setTracer(e3.currentTarget.value), children: [
          /* @__PURE__ */ u3("option", { value: "function_graph", children: "function_graph: calls with their times" }),
          /* @__PURE__ */ u3("option", { value: "function", children: "function: calls" }),
          /* @__PURE__ */ u3("option", { value: "", children: "none: events alone" })
        ] })
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        "Events",
        /* @__PURE__ */ u3("input", { class: "wide", value: events, onInput: (e3) => setEvents(e3.currentTarget.value) })
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        /* @__PURE__ */ u3("input", { type: "checkbox", checked: kernel, onChange: (e3) => setKernel(e3.currentTarget.checked) }),
        "of the kernel, too"
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        "Program and its arguments",
        /* @__PURE__ */ u3("input", { class: "wide", value: program, onInput: (e3) => setProgram(e3.currentTarget.value) })
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        "Output",
        /* @__PURE__ */ u3("input", { class: "wide", value: output, onInput: (e3) => setOutput(e3.currentTarget.value) })
      ] }),
      /* @__PURE__ */ u3(CommandLine, { v: v3, line })
    ] });
  }
  function Cut({ v: v3 }) {
    const [output, setOutput] = d2("part.dat");
    const { files, offsets, first } = v3.info, { from, to } = v3.area || v3.chosen || v3.range, many = files.length > 1;
    const time = (ns, file) => clockTime(first, Math.max(ns - offsets[file], -Number(first)));
    const name = (file) => shellWord(many ? `${file + 1}-${output}` : output);
    const line = files.map((path, i4) => `vestige split -i ${shellWord(path)} -o ${name(i4)} ${time(Math.floor(from), i4)} ${time(Math.ceil(to), i4)}`).join(" && ");
    return /* @__PURE__ */ u3(Box, { v: v3, title: "Cut", children: [
      /* @__PURE__ */ u3("p", { children: [
        "This page writes no recording. Copy the command into a terminal: it writes the records of ",
        v3.area ? "the range" : v3.chosen ? "the chosen time" : "the time that is shown",
        " into ",
        many ? "a file for each recording" : "a file",
        ", ",
        name(0),
        ".1",
        many ? " and so on" : "",
        "."
      ] }),
      /* @__PURE__ */ u3("label", { children: [
        "Output",
        /* @__PURE__ */ u3("input", { class: "wide", value: output, onInput: (e3) => setOutput(e3.currentTarget.value) })
      ] }),
      /* @__PURE__ */ u3(CommandLine, { v: v3, line })
    ] });
  }
  function CommandLine({ v: v3, line }) {
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("p", { children: /* @__PURE__ */ u3("code", { class: "command", children: line }) }),
      /* @__PURE__ */ u3("button", { onClick: () => navigator.clipboard.writeText(line).catch(v3.failed), children: "Copy" })
    ] });
  }

  // src/source.ts
  var WORDS = 7;
  var START = 0;
  var LENGTH = 1;
  var NAME = 2;
  var COUNT = 3;
  var WHICH = 5;
  var EXTRA = 6;
  function isEvent(entry) {
    return entry[8] !== void 0;
  }

  // src/list.tsx
  var LINE = 20;
  var MAX = 8e6;
  function List({ v: v3, source, length, chosen }) {
    const box = A2(null);
    const [first, setFirst] = d2(0);
    const [height, setHeight] = d2(200);
    const [shown, setShown] = d2({ first: 0, entries: [] });
    const lines = Math.ceil(height / LINE) + 1;
    const total = Math.min(length * LINE, MAX);
    const last = Math.max(0, length - lines + 2);
    const scrolled = (top) => total < MAX ? Math.floor(top / LINE) : Math.round(top / (total - height) * last);
    y2(() => {
      const watch = new ResizeObserver(() => setHeight(box.current.clientHeight));
      watch.observe(box.current);
      return () => watch.disconnect();
    }, []);
    y2(() => {
      let gone = false;
      source.list(first, lines).then(
        (entries) => gone || setShown({ first, entries }),
        (error) => gone || v3.failed(error)
      );
      return () => {
        gone = true;
      };
    }, [first, lines, source, length]);
    y2(() => {
      box.current.scrollTop = 0;
      setFirst(0);
    }, [source]);
    y2(() => {
      if (chosen < 0 || !box.current)
        return;
      if (chosen >= first && chosen < first + lines - 2)
        return;
      const to = Math.max(0, chosen - Math.floor(lines / 2));
      box.current.scrollTop = total < MAX ? to * LINE : to / last * (total - height);
      setFirst(to);
    }, [chosen, source]);
    const key = (e3) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: lines - 2, PageUp: 2 - lines, Home: -length, End: length }[e3.key];
      if (!by || e3.shiftKey)
        return;
      e3.preventDefault();
      e3.stopPropagation();
      const to = Math.max(0, Math.min(length - 1, chosen + by));
      source.list(to, 1).then(([entry]) => entry && v3.chooseEntry(to, entry), v3.failed);
    };
    const { a: a3, b } = v3.graph ? v3.graph.markers : { a: null, b: null };
    return /* @__PURE__ */ u3("div", { class: "list", role: "grid", "aria-label": "Events and calls", "aria-rowcount": length, children: [
      /* @__PURE__ */ u3("div", { class: "line head", role: "row", children: ["#", "CPU", "Time", "Task", "PID", "Latency", "Event", "Info"].map((title) => /* @__PURE__ */ u3("span", { role: "columnheader", children: title })) }),
      /* @__PURE__ */ u3("div", { class: "rows", role: "rowgroup", ref: box, tabIndex: 0, onKeyDown: key, onScroll: (e3) => setFirst(scrolled(e3.currentTarget.scrollTop)), children: /* @__PURE__ */ u3("div", { class: "tall", role: "presentation", style: { height: `${total}px` }, children: /* @__PURE__ */ u3("div", { class: "lines", role: "presentation", style: { transform: `translateY(${total < MAX ? shown.first * LINE : box.current?.scrollTop || 0}px)` }, children: shown.entries.map((entry, i4) => {
        const at = shown.first + i4;
        const mark = entry[0] === a3 ? " mark-a" : entry[0] === b ? " mark-b" : "";
        return /* @__PURE__ */ u3(
          "div",
          {
            class: `line${at === chosen ? " chosen" : ""}${mark}`,
            role: "row",
            "aria-rowindex": at + 1,
            "aria-selected": at === chosen,
            onClick: () => v3.chooseEntry(at, entry),
            onContextMenu: (e3) => {
              e3.preventDefault();
              v3.entryMenu(at, entry, e3.clientX, e3.clientY);
            },
            children: columns(v3.info, entry, at).map((text) => /* @__PURE__ */ u3("span", { role: "gridcell", title: text, children: text }))
          },
          at
        );
      }) }) }) })
    ] });
  }
  function columns(info, entry, at) {
    const [start, length, name, track, row, , cpu, latency, text] = entry, t3 = info.tracks[track];
    const detail = isEvent(entry) ? text : `${duration(length)}, depth ${row}${t3.stack ? `, stack ${t3.stack}` : ""}`;
    return [String(at), cpu < 0 ? "" : String(cpu), clockTime(info.first, start), t3.name, String(t3.id), latency || "", info.names[name], detail];
  }

  // src/menu.tsx
  function Menu({ v: v3 }) {
    const box = A2(null);
    const { x: x2, y: y3, items } = v3.menu;
    _2(() => {
      box.current.querySelector("button")?.focus();
    }, [v3.menu]);
    const key = (e3) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[e3.key];
      if (!by)
        return;
      e3.preventDefault();
      const buttons = Array.from(box.current.querySelectorAll("button")), at = buttons.indexOf(document.activeElement);
      buttons[(at + by + buttons.length) % buttons.length].focus();
    };
    const high = items.length * 24 + 8;
    return /* @__PURE__ */ u3("div", { class: "menu", role: "menu", ref: box, onKeyDown: key, style: { left: `${Math.min(x2, innerWidth - 300)}px`, top: `${Math.max(0, Math.min(y3, innerHeight - high))}px` }, children: items.map((item) => /* @__PURE__ */ u3("button", { role: "menuitem", onClick: (e3) => {
      e3.stopPropagation();
      v3.menu = null;
      v3.changed();
      item.run();
    }, children: item.title })) });
  }

  // src/answer.ts
  function useAnswer(none, ask, failed2, inputs) {
    const [answer, setAnswer] = d2(none);
    y2(() => {
      let gone = false;
      ask().then((a3) => gone || setAnswer(a3), failed2);
      return () => {
        gone = true;
      };
    }, inputs);
    return answer;
  }
  function ofTracks(tracks, ask) {
    return tracks.length ? ask(tracks) : Promise.resolve([]);
  }

  // src/match.ts
  var WHOLE = /^(0x[0-9a-f]{1,16}|[1-9]\d{0,19}|0)$/i;
  function numberOf(text) {
    if (/^0x[0-9a-f]+$/i.test(text))
      return parseInt(text, 16);
    return /^-?\.?\d/.test(text) ? Number(text) : NaN;
  }
  function compare(op, a3, b) {
    switch (op) {
      case "eq":
        return a3 === b;
      case "ne":
        return a3 !== b;
      case "lt":
        return a3 < b;
      case "le":
        return a3 <= b;
      case "gt":
        return a3 > b;
      default:
        return a3 >= b;
    }
  }
  function globOf(pattern) {
    const source = pattern.replace(/\\(.)|\[[^\]]*\]|[*?.+^${}()|]/g, (m3, escaped) => escaped !== void 0 ? escaped.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : m3 === "*" ? ".*" : m3 === "?" ? "." : m3[0] === "[" ? m3.replace("[!", "[^") : `\\${m3}`);
    return new RegExp(`^${source}$`, "s");
  }
  function textTest(op, value) {
    const lower = value.toLowerCase(), number = numberOf(value);
    if (op === "has")
      return (text) => text.toLowerCase().includes(lower);
    if (op === "lacks")
      return (text) => !text.toLowerCase().includes(lower);
    if (op === "glob") {
      const glob = globOf(value);
      return (text) => glob.test(text);
    }
    const asNumber = (text) => isNaN(number) || isNaN(numberOf(text)) ? compare(op, text, value) : compare(op, numberOf(text), number);
    if (!WHOLE.test(value))
      return asNumber;
    const whole2 = BigInt(value);
    return (text) => {
      if (!WHOLE.test(text))
        return asNumber(text);
      const n2 = BigInt(text);
      return compare(op, n2 > whole2 ? 1 : n2 < whole2 ? -1 : 0, 0);
    };
  }
  function numberTest(op, value) {
    const number = numberOf(value), text = textTest(op, value);
    if (["has", "lacks", "glob"].includes(op))
      return (n2) => text(String(n2));
    return (n2) => isNaN(number) ? op === "ne" : compare(op, n2, number);
  }
  function fieldOf(info, name) {
    const m3 = new RegExp(`(?:^|[^\\w])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}[=:] *([^ ,]*)`).exec(info);
    return m3 ? m3[1] : void 0;
  }
  function term(line) {
    const [, column, op, value] = /^(\S+) (\S+) (.*)$/s.exec(line);
    if (column[0] === ".") {
      const test = textTest(op, value), name = column.slice(1), known2 = /* @__PURE__ */ new Map();
      return ({ info }) => {
        if (info === void 0)
          return void 0;
        if (!known2.has(info)) {
          const field = fieldOf(info, name);
          known2.set(info, field === void 0 ? void 0 : test(field));
        }
        return known2.get(info);
      };
    }
    const text = textTest(op, value), number = numberTest(op, value), known = /* @__PURE__ */ new Map();
    return (item) => {
      const is = item[column];
      if (is === void 0)
        return void 0;
      if (typeof is === "number")
        return number(is);
      let met = known.get(is);
      if (met === void 0)
        known.set(is, met = text(is));
      return met;
    };
  }
  function condition(steps) {
    const stack = [];
    for (const line of steps.split("\n").filter((l3) => l3)) {
      if (line === "not") {
        const a3 = stack.pop();
        stack.push((item) => {
          const met = a3(item);
          return met === void 0 ? met : !met;
        });
      } else if (line === "and" || line === "or") {
        const b = stack.pop(), a3 = stack.pop(), decides = line === "or";
        stack.push((item) => {
          const x2 = a3(item);
          if (x2 === decides)
            return x2;
          const y3 = b(item);
          return y3 === decides ? y3 : x2 === void 0 || y3 === void 0 ? void 0 : y3;
        });
      } else
        stack.push(term(line));
    }
    return stack[0] || (() => true);
  }

  // src/local.ts
  function sums(differences) {
    let at = 0;
    return differences.map((d3) => at += d3);
  }
  function lowerBound(sorted, value) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const mid = low + high >> 1;
      if (sorted[mid] < value)
        low = mid + 1;
      else
        high = mid;
    }
    return low;
  }
  var LocalSource = class {
    constructor(all, texts, events, tracks) {
      this.all = all;
      this.texts = texts;
      this.events = events;
      this.tracks = tracks;
      this.order = null;
      // the list: 0 an event, else 1 + index of a row
      this.callRows = [];
      all.tracks.forEach((track, i4) => {
        if (track.kind === "calls")
          tracks[i4].forEach((columns2, row) => this.callRows.push({ track: i4, row, columns: columns2 }));
      });
    }
    static of(recording) {
      const { info, texts } = recording;
      const events = { ...recording.events, ts: sums(recording.events.ts) };
      const tracks = info.tracks.map((_3, i4) => {
        const rows = recording.rows[i4];
        if (!rows)
          return [eventRow(info.tracks, events, i4)];
        return rows.map(([start, length, name, extra]) => ({ start: sums(start), length, name, extra: extra || null }));
      });
      return new LocalSource(info, texts, events, tracks);
    }
    // As columns_filter() of tools/view/match.h.
    filtered(steps) {
      if (!steps)
        return this;
      const met = condition(steps), { all, events } = this;
      const kept = events.ts.map((_3, i4) => i4).filter((i4) => met(this.eventItem(i4)) === true);
      const pick = (column) => kept.map((i4) => column[i4]);
      const left = { ts: pick(events.ts), cpu: pick(events.cpu), track: pick(events.track), name: pick(events.name), latency: pick(events.latency), text: pick(events.text) };
      const tracks = all.tracks.map((track, t3) => {
        if (track.kind === "events" || track.kind === "cpu-events")
          return [eventRow(all.tracks, left, t3)];
        return this.tracks[t3].map((row, depth) => {
          const those = row.start.map((_3, i4) => i4).filter((i4) => {
            const is = met(this.spanItem(t3, depth, i4));
            return is === true || is === void 0 && track.kind !== "calls";
          });
          return { start: those.map((i4) => row.start[i4]), length: those.map((i4) => row.length[i4]), name: those.map((i4) => row.name[i4]), extra: row.extra && those.map((i4) => row.extra[i4]) };
        });
      });
      return new LocalSource(all, this.texts, left, tracks);
    }
    eventItem(i4) {
      const { events, texts } = this, track = this.all.tracks[events.track[i4]];
      return { event: this.all.names[events.name[i4]], info: texts[events.text[i4]], latency: texts[events.latency[i4]], task: track.name, pid: track.id, cpu: events.cpu[i4], time: events.ts[i4] };
    }
    spanItem(t3, depth, i4) {
      const track = this.all.tracks[t3], row = this.tracks[t3][depth], name = this.all.names[row.name[i4]], extra = row.extra ? row.extra[i4] | 0 : -1;
      if (track.kind === "cpu")
        return { task: name, pid: extra, cpu: track.id };
      if (track.kind === "states")
        return { task: track.name, pid: track.id, cpu: extra };
      return { event: name, task: track.name, pid: track.id, cpu: extra < 0 ? void 0 : extra, time: row.start[i4], length: row.length[i4], depth };
    }
    async info() {
      return this.all;
    }
    async spans(rows, from, to, pixel) {
      pixel = Math.floor(pixel);
      return rows.map(([track, row]) => {
        const columns2 = this.tracks[track]?.[row];
        return columns2 ? query(columns2, Math.floor(from), Math.floor(to), pixel) : [];
      });
    }
    // For each entry of the list, which source it comes from.
    listOrder() {
      if (this.order)
        return this.order;
      const next = new Array(this.callRows.length + 1).fill(0);
      const starts = [this.events.ts, ...this.callRows.map((r3) => r3.columns.start)];
      const order = new Uint32Array(starts.reduce((nr, s3) => nr + s3.length, 0));
      const heap = [];
      const less = (a3, b) => starts[a3][next[a3]] < starts[b][next[b]] || starts[a3][next[a3]] === starts[b][next[b]] && a3 < b;
      const down = (i4) => {
        for (; ; ) {
          let least = i4;
          for (const child of [2 * i4 + 1, 2 * i4 + 2])
            if (child < heap.length && less(heap[child], heap[least]))
              least = child;
          if (least === i4)
            return;
          [heap[i4], heap[least]] = [heap[least], heap[i4]];
          i4 = least;
        }
      };
      starts.forEach((s3, i4) => s3.length && heap.push(i4));
      for (let i4 = heap.length >> 1; i4 >= 0; i4--)
        down(i4);
      for (let i4 = 0; heap.length; i4++) {
        const s3 = heap[0];
        order[i4] = s3;
        if (++next[s3] === starts[s3].length) {
          heap[0] = heap[heap.length - 1];
          heap.pop();
        }
        down(0);
      }
      this.order = order;
      return order;
    }
    entry(source, i4) {
      const { events, texts } = this;
      if (source === 0)
        return [events.ts[i4], 0, events.name[i4], events.track[i4], 0, i4, events.cpu[i4], texts[events.latency[i4]], texts[events.text[i4]]];
      const { track, row, columns: columns2 } = this.callRows[source - 1];
      return [columns2.start[i4], columns2.length[i4], columns2.name[i4], track, row, i4, columns2.extra[i4] | 0];
    }
    each(from, to, visit) {
      const order = this.listOrder();
      const next = new Array(this.callRows.length + 1).fill(0);
      for (let i4 = 0; i4 < Math.min(to, order.length); i4++) {
        const nr = next[order[i4]]++;
        if (i4 >= from)
          visit(this.entry(order[i4], nr), i4);
      }
    }
    async list(at, nr) {
      const out = [];
      this.each(at, at + nr, (entry) => out.push(entry));
      return out;
    }
    async number(ts) {
      ts = Math.floor(ts);
      return this.callRows.reduce((nr, r3) => nr + lowerBound(r3.columns.start, ts), lowerBound(this.events.ts, ts));
    }
    async find(steps, from, to) {
      const met = condition(steps), found = [0, -1, -1];
      this.each(from, to, (entry, i4) => {
        if (met(isEvent(entry) ? this.eventItem(entry[5]) : this.spanItem(entry[3], entry[4], entry[5])) !== true)
          return;
        found[0]++;
        if (found[1] < 0)
          found[1] = i4;
        found[2] = i4;
      });
      return found;
    }
    async table(from, to, tracks) {
      const rows = [];
      const open = [];
      this.walk(from, to, tracks, {
        enter: (name) => open[name] = (open[name] || 0) + 1,
        leave: (name, length, beneath) => {
          const r3 = rows[name] = rows[name] || [name, 0, 0, 0, length, 0];
          r3[1]++;
          r3[3] += length - beneath;
          r3[4] = Math.min(r3[4], length);
          r3[5] = Math.max(r3[5], length);
          if (!--open[name])
            r3[2] += length;
        }
      });
      return rows.filter((r3) => !!r3);
    }
    async flame(from, to, tracks, offCpu) {
      const nodes = [[0, 0, 0, 0, 0]];
      const children = /* @__PURE__ */ new Map();
      let at = 0;
      const walker = (weight) => ({
        enter: (name) => {
          const key = `${at} ${name}`;
          let node2 = children.get(key);
          if (node2 === void 0) {
            node2 = nodes.push([at, name, 0, 0, 0]) - 1;
            children.set(key, node2);
          }
          at = node2;
        },
        leave: (_name, length, _beneath, start) => {
          nodes[at][2]++;
          nodes[at][3] += weight(start, length);
          at = nodes[at][0];
        }
      });
      if (!offCpu)
        this.walk(from, to, tracks, walker((_start, length) => length));
      else
        this.all.tracks.forEach((track, i4) => {
          if (track.kind !== "calls" || tracks.length && !tracks.includes(i4))
            return;
          const states = this.all.tracks.findIndex((t3) => t3.kind === "states" && t3.id === track.id && t3.pid === track.pid && t3.file === track.file);
          if (states >= 0)
            this.walk(from, to, [i4], walker(this.offCpu(this.tracks[states][0])));
        });
      for (const [parent, , , total] of nodes.slice(1))
        nodes[parent][4] -= total;
      return nodes.slice(1).map(([parent, name, calls, total, less]) => [parent, name, calls, total, total + less]);
    }
    // A function that gives how long a thread did not run within a time.
    offCpu(states) {
      const before = [0];
      states.start.forEach((_3, i4) => before.push(before[i4] + (this.all.names[states.name[i4]] === "running" ? 0 : states.length[i4])));
      const until = (ts) => {
        const i4 = overlapping(states, ts), start = i4 < states.start.length ? states.start[i4] : ts;
        return before[i4] + (ts > start && before[i4 + 1] > before[i4] ? ts - start : 0);
      };
      return (start, length) => until(start + length) - until(start);
    }
    async function(name, from, to) {
      const calls = [];
      this.callRows.forEach(
        ({ track, row, columns: columns2 }) => columns2.name.forEach((n2, i4) => n2 === name && columns2.start[i4] >= from && columns2.start[i4] < to && calls.push([columns2.start[i4], columns2.length[i4], track, row, i4]))
      );
      calls.sort((a3, b) => b[1] - a3[1] || a3[0] - b[0]);
      const nr = calls.length, buckets = [];
      for (const call of calls) {
        const bucket = call[1] < 2 ? 0 : Math.floor(Math.log2(call[1]));
        while (buckets.length <= bucket)
          buckets.push(0);
        buckets[bucket]++;
      }
      const percent = (p3) => nr ? calls[nr - Math.ceil(nr * p3 / 100)][1] : 0;
      return { calls: nr, total: calls.reduce((sum, c3) => sum + c3[1], 0), p50: percent(50), p90: percent(90), p99: percent(99), buckets, longest: calls.slice(0, 10) };
    }
    // The calls of a range as tools/view/span_walk.c gives them.
    walk(from, to, tracks, walker) {
      from = Math.floor(from);
      to = Math.floor(to);
      this.tracks.forEach((rows, i4) => {
        if (this.all.tracks[i4].kind !== "calls" || tracks.length && !tracks.includes(i4))
          return;
        const next = rows.map((r3) => overlapping(r3, from));
        const walkRow = (row, since, limit) => {
          const r3 = rows[row];
          let sum = 0;
          while (row < rows.length && next[row] < r3.start.length && r3.start[next[row]] < limit) {
            const nr = next[row]++;
            walkRow(row + 1, Infinity, r3.start[nr]);
            const start = Math.max(r3.start[nr], from);
            const end = Math.min(r3.start[nr] + r3.length[nr], to);
            const length = Math.max(0, end - start);
            walker.enter(r3.name[nr]);
            const beneath = walkRow(row + 1, start, end);
            walker.leave(r3.name[nr], length, beneath, start);
            if (start >= since)
              sum += length;
          }
          return sum;
        };
        for (let row = rows.length - 1; row > 0; row--) {
          const around = rows[row - 1].start[next[row - 1]];
          walkRow(row, Infinity, around < to ? around : to);
        }
        for (let row = 0; row < rows.length; row++)
          walkRow(row, Infinity, to);
      });
    }
  };
  function overlapping(row, ts) {
    const i4 = lowerBound(row.start, ts);
    return i4 > 0 && row.start[i4 - 1] + row.length[i4 - 1] > ts ? i4 - 1 : i4;
  }
  function eventRow(tracks, events, of) {
    const row = { start: [], length: [], name: [], extra: [] }, { kind, file, id } = tracks[of];
    events.ts.forEach((ts, i4) => {
      if (kind === "events" ? events.track[i4] !== of : events.cpu[i4] !== id || tracks[events.track[i4]].file !== file)
        return;
      row.start.push(ts);
      row.length.push(0);
      row.name.push(events.name[i4]);
      row.extra.push(i4);
    });
    return row;
  }
  function query(row, from, to, pixel) {
    const out = [];
    let at = -1;
    for (let i4 = overlapping(row, from); i4 < row.start.length && row.start[i4] < to; i4++) {
      const start = row.start[i4], length = row.length[i4];
      const here = pixel && length < pixel ? Math.floor(Math.max(0, start - from) / pixel) : -1;
      const last = out.length - 7;
      if (here >= 0 && here === at) {
        out[last + 1] = start + length - out[last];
        out[last + 3]++;
        out[last + 4] += length;
        if (length > row.length[out[last + 5]]) {
          out[last + 2] = row.name[i4];
          out[last + 5] = i4;
          out[last + 6] = row.extra ? row.extra[i4] : 0;
        }
      } else {
        out.push(start, length, row.name[i4], 1, length, i4, row.extra ? row.extra[i4] : 0);
      }
      at = here;
    }
    return out;
  }

  // src/plots.ts
  var CHUNK = 2e4;
  var MAX_ENTRIES = 1e6;
  var MAX_ROWS = 8;
  var MAX_LOCKS = 20;
  async function collect(source, steps) {
    const those = source.filtered(steps), out = [];
    while (out.length < MAX_ENTRIES) {
      const more = await those.list(out.length, CHUNK);
      out.push(...more);
      if (more.length < CHUNK)
        break;
    }
    return out;
  }
  function stackInRows(pieces) {
    const names = [...new Set(pieces.map((p3) => p3.name))], number = new Map(names.map((n2, i4) => [n2, i4]));
    const rows = [];
    for (const { start, length, name } of [...pieces].sort((a3, b) => a3.start - b.start)) {
      let row = rows.find((r3) => r3.start[r3.start.length - 1] + r3.length[r3.length.length - 1] <= start);
      if (!row && rows.length < MAX_ROWS)
        rows.push(row = { start: [], length: [], name: [], extra: null });
      if (!row)
        continue;
      row.start.push(start);
      row.length.push(length);
      row.name.push(number.get(name));
    }
    return { rows: rows.length ? rows : [{ start: [], length: [], name: [], extra: null }], names };
  }
  function pairKey(info, entry, by) {
    const track = info.tracks[entry[3]];
    if (by === "all")
      return "all";
    if (by === "cpu")
      return `CPU ${entry[6]}`;
    if (by === "task")
      return `${track.name}-${track.id}`;
    const field = isEvent(entry) ? fieldOf(entry[8], by) : void 0;
    return field === void 0 ? void 0 : `${by} ${field}`;
  }
  function pairs(info, from, to, by) {
    const [a3, b] = by.includes("=") ? by.split("=") : [by, by];
    const open = /* @__PURE__ */ new Map(), out = [];
    const value = (entry, column) => pairKey(info, entry, column)?.replace(/^\w+ /, "");
    let i4 = 0;
    for (const end of to) {
      for (; i4 < from.length && (from[i4][0] < end[0] || from[i4][0] === end[0] && from[i4][5] < end[5]); i4++) {
        const key2 = value(from[i4], a3);
        if (key2 !== void 0)
          open.set(key2, from[i4][0]);
      }
      const key = value(end, b), start = key === void 0 ? void 0 : open.get(key);
      if (start === void 0)
        continue;
      open.delete(key);
      out.push({ start, length: end[0] - start, name: pairKey(info, end, b) });
    }
    return out;
  }
  function addUse(uses, info, begin2, end) {
    const lock = lockOf(begin2), track = info.tracks[begin2[3]];
    if (!uses.has(lock))
      uses.set(lock, []);
    uses.get(lock).push({ start: begin2[0], length: end - begin2[0], name: `${track.name}-${track.id}` });
  }
  function lockOf(entry) {
    return entry[8].split(" ")[0];
  }
  async function waits(source, info) {
    const uses = /* @__PURE__ */ new Map(), open = /* @__PURE__ */ new Map();
    for (const e3 of await collect(source, parseFilter("event == contention_begin || event == contention_end", info.first))) {
      const begin2 = open.get(e3[3]);
      if (info.names[e3[2]].endsWith("contention_begin"))
        open.set(e3[3], e3);
      else if (begin2 && open.delete(e3[3]))
        addUse(uses, info, begin2, e3[0]);
    }
    return uses;
  }
  async function holds(source, info) {
    const uses = /* @__PURE__ */ new Map(), open = /* @__PURE__ */ new Map();
    for (const e3 of await collect(source, parseFilter("event == lock_acquire || event == lock_acquired || event == lock_release", info.first))) {
      const key = `${e3[3]} ${lockOf(e3)}`, name = info.names[e3[2]];
      if (name.endsWith("lock_acquired") || name.endsWith("lock_acquire") && / try\b/.test(e3[8]))
        open.set(key, [...open.get(key) || [], e3]);
      else if (name.endsWith("lock_release")) {
        const begin2 = open.get(key)?.pop();
        if (begin2 && !open.get(key).length)
          addUse(uses, info, begin2, e3[0]);
      }
    }
    for (const [begin2] of open.values())
      if (begin2)
        addUse(uses, info, begin2, info.duration);
    return uses;
  }
  async function locks(source, info, definition) {
    const held = definition.kind === "held", uses = await (held ? holds : waits)(source, info);
    if (!uses.size)
      throw new Error(held ? "No holders of locks are recorded: record with -e lock." : "No waits for locks are recorded: record with -e lock.");
    const time = (pieces) => pieces.reduce((sum, p3) => sum + p3.length, 0);
    return [...uses].sort((a3, b) => time(b[1]) - time(a3[1])).slice(0, MAX_LOCKS).map(([lock, pieces]) => ({ title: `${held ? "holders of" : "waits for"} lock ${lock}`, shape: "spans", ...stackInRows(pieces), definition }));
  }
  function plotTitle(definition) {
    switch (definition.kind) {
      case "pair":
        return `${definition.from} → ${definition.to} by ${definition.by}`;
      case "field":
        return `${definition.field} of ${definition.events}`;
      case "heat":
        return `how long ${definition.name} took`;
      case "locks":
        return "waits for locks";
      case "held":
        return "holders of locks";
      default:
        return definition.question.replace(/\s+/g, " ").slice(0, 60);
    }
  }
  async function makePlots(source, info, definition) {
    const title = plotTitle(definition);
    switch (definition.kind) {
      case "pair": {
        const [from, to] = await Promise.all([definition.from, definition.to].map((f4) => collect(source, parseFilter(f4, info.first))));
        const pieces = pairs(info, from, to, definition.by);
        if (!pieces.length)
          throw new Error(`No such pair is recorded: ${title}. ${from.length} begin and ${to.length} end.`);
        return [{ title, shape: "spans", ...stackInRows(pieces), definition }];
      }
      case "field": {
        const values = [], start = [];
        for (const entry of await collect(source, parseFilter(definition.events, info.first))) {
          const value = Number(isEvent(entry) ? fieldOf(entry[8], definition.field) : definition.field === "length" ? entry[1] : void 0);
          if (isNaN(value))
            continue;
          start.push(entry[0]);
          values.push(value);
        }
        if (!start.length)
          throw new Error(`No number is recorded in ${title}.`);
        return [{ title, shape: "values", rows: [{ start, length: start.map(() => 0), name: start.map(() => 0), extra: null }], names: [definition.field], values, definition }];
      }
      case "heat": {
        const calls = (await collect(source, step("event", "eq", definition.name))).filter((e3) => !isEvent(e3));
        if (!calls.length)
          throw new Error(`No call of ${definition.name} is recorded.`);
        return [{ title, shape: "heat", rows: [{ start: calls.map((c3) => c3[0]), length: calls.map((c3) => c3[1]), name: calls.map(() => 0), extra: null }], names: [definition.name], definition }];
      }
      case "locks":
      case "held":
        return locks(source, info, definition);
      default: {
        if (!source.sql)
          throw new Error("This page has no server that answers SQL.");
        const { names, rows, error } = await source.sql(definition.question);
        const [start, length, name] = ["start", "duration", "name"].map((n2) => (names || []).indexOf(n2));
        if (error)
          throw new Error(error);
        if (start < 0)
          throw new Error("The result has no column start, so it cannot be put on the timeline.");
        const pieces = rows.filter((r3) => /^\d+$/.test(r3[start] || "")).map((r3) => ({ start: Number(BigInt(r3[start]) - BigInt(info.first)), length: Number(r3[length] || 0), name: r3[name] || "" }));
        return [{ title, shape: "spans", ...stackInRows(pieces), definition }];
      }
    }
  }
  function plotTimes(plot, from, to) {
    const all = plot.rows.flatMap((r3, row) => {
      const out = [];
      for (let i4 = lowerBound(r3.start, from); i4 < r3.start.length && r3.start[i4] < to; i4++)
        out.push({ row, i: i4, start: r3.start[i4], length: r3.length[i4] });
      return out;
    });
    all.sort((a3, b) => b.length - a3.length);
    const percent = (p3) => all.length ? all[all.length - Math.ceil(all.length * p3 / 100)].length : 0;
    return { nr: all.length, p50: percent(50), p90: percent(90), p99: percent(99), max: all.length ? all[0].length : 0, longest: all.slice(0, 10) };
  }

  // src/chosen.tsx
  function ChosenPanel({ v: v3 }) {
    const { span, info } = v3;
    if (!span)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "Click a call or an event. Drag with Shift for a range." });
    const track = v3.graph.tracks[span.track];
    if (track.plot)
      return /* @__PURE__ */ u3(PlotPanel, { v: v3 });
    const object = info.objects[span.name];
    const facts = [
      [track.kind === "calls" ? "Function" : track.kind === "states" ? "State" : "Event", info.names[span.name]],
      ["Track", trackTitle(track)],
      ["Time", clockTime(info.first, span.start)]
    ];
    if (object)
      facts.push(["Object", object]);
    if (info.places[span.name])
      facts.push(["Source", info.places[span.name]]);
    if (span.length && !isEvents(track))
      facts.push(["Length", duration(span.length)]);
    if (track.kind === "calls")
      facts.push(["Depth", String(span.row)]);
    if (track.kind === "cpu")
      facts.push(["Thread", String(span.extra)]);
    if (track.kind === "states" || track.kind === "calls" && (span.extra | 0) >= 0)
      facts.push(["CPU", String(span.extra)]);
    if (span.count > 1)
      facts.push(["Together", isEvents(track) ? `${span.count} events in ${duration(span.length)}: this is one of them` : `${span.count} spans, too short to be drawn apart: this is the longest one's name`]);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("dl", { class: "facts", children: facts.map(([name, value]) => /* @__PURE__ */ u3(k, { children: [
        /* @__PURE__ */ u3("dt", { children: name }),
        /* @__PURE__ */ u3("dd", { children: value })
      ] })) }),
      span.length > 0 && (track.kind === "calls" || track.kind === "states") && /* @__PURE__ */ u3("p", { class: "hint", children: /* @__PURE__ */ u3("button", { onClick: () => v3.showCriticalPath(), children: "Critical path" }) }),
      v3.path && /* @__PURE__ */ u3(PathPanel, { v: v3 }),
      track.kind === "calls" && /* @__PURE__ */ u3(TimesPanel, { v: v3, name: span.name })
    ] });
  }
  function PathPanel({ v: v3 }) {
    const sums2 = /* @__PURE__ */ new Map(), { tracks } = v3.graph;
    let all = 0;
    for (const { track, from, to, state } of v3.path.pieces) {
      const key = `${tracks[track].name}-${tracks[track].id} ${state}`;
      sums2.set(key, (sums2.get(key) || 0) + to - from);
      all += to - from;
    }
    return /* @__PURE__ */ u3("table", { class: "functions path", children: [
      /* @__PURE__ */ u3("caption", { children: [
        "Critical path: ",
        duration(all)
      ] }),
      /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: [
        /* @__PURE__ */ u3("th", { scope: "col", children: "Thread and state" }),
        /* @__PURE__ */ u3("th", { scope: "col", children: "Time" }),
        /* @__PURE__ */ u3("th", { scope: "col", children: "%" })
      ] }) }),
      /* @__PURE__ */ u3("tbody", { children: [...sums2].sort((a3, b) => b[1] - a3[1]).map(([key, ns]) => /* @__PURE__ */ u3("tr", { children: [
        /* @__PURE__ */ u3("td", { children: key }),
        /* @__PURE__ */ u3("td", { children: duration(ns) }),
        /* @__PURE__ */ u3("td", { children: (100 * ns / all).toFixed(1) })
      ] })) })
    ] });
  }
  function PlotPanel({ v: v3 }) {
    const span = v3.span, track = v3.graph.tracks[span.track], { from, to } = v3.shown, times = plotTimes(track.plot, from, to);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("dl", { class: "facts", children: [
        /* @__PURE__ */ u3("dt", { children: "Track" }),
        /* @__PURE__ */ u3("dd", { children: trackTitle(track) }),
        /* @__PURE__ */ u3("dt", { children: "Name" }),
        /* @__PURE__ */ u3("dd", { children: track.plot.names[span.name] }),
        /* @__PURE__ */ u3("dt", { children: "Time" }),
        /* @__PURE__ */ u3("dd", { children: clockTime(v3.info.first, span.start) }),
        /* @__PURE__ */ u3("dt", { children: "Length" }),
        /* @__PURE__ */ u3("dd", { children: duration(span.length) })
      ] }),
      /* @__PURE__ */ u3("p", { class: "hint", children: [
        times.nr,
        " of them: p50 ",
        duration(times.p50),
        ", p90 ",
        duration(times.p90),
        ", p99 ",
        duration(times.p99),
        ", max ",
        duration(times.max)
      ] }),
      /* @__PURE__ */ u3("ol", { class: "longest", children: times.longest.map(({ row, i: i4, start, length }) => /* @__PURE__ */ u3("li", { children: /* @__PURE__ */ u3("button", { onClick: () => v3.goTo({ ...span, row, start, length, name: track.plot.rows[row].name[i4], count: 1, which: i4 }), children: [
        duration(length),
        " at ",
        clockTime(v3.info.first, start)
      ] }) })) })
    ] });
  }
  function TimesPanel({ v: v3, name }) {
    const { info } = v3, { from, to } = v3.shown;
    const times = useAnswer(null, () => v3.source.function(name, from, to), v3.failed, [name, from, to]);
    if (!times)
      return null;
    const most = Math.max(...times.buckets, 1), first = times.buckets.findIndex((n2) => n2 > 0);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("p", { class: "hint", children: [
        times.calls,
        " calls of ",
        info.names[name],
        v3.area ? " in the range" : "",
        ": p50 ",
        duration(times.p50),
        ", p90 ",
        duration(times.p90),
        ", p99 ",
        duration(times.p99),
        ", max ",
        duration(times.longest.length ? times.longest[0][1] : 0)
      ] }),
      /* @__PURE__ */ u3("table", { class: "buckets", "aria-label": "How many calls took how long", children: times.buckets.map(
        (nr, i4) => i4 < first ? null : /* @__PURE__ */ u3("tr", { children: [
          /* @__PURE__ */ u3("th", { scope: "row", children: duration(i4 ? 2 ** i4 : 0) }),
          /* @__PURE__ */ u3("td", { children: nr }),
          /* @__PURE__ */ u3("td", { class: "bar", children: /* @__PURE__ */ u3("div", { style: { width: `${nr / most * 100}%` } }) })
        ] })
      ) }),
      /* @__PURE__ */ u3("p", { class: "hint", children: "The longest:" }),
      /* @__PURE__ */ u3("ol", { class: "longest", children: times.longest.map(([start, length, track, row, which]) => /* @__PURE__ */ u3("li", { children: /* @__PURE__ */ u3("button", { onClick: () => v3.goTo({ track, row, start, length, name, count: 1, which, extra: -1 }), children: [
        duration(length),
        " at ",
        clockTime(info.first, start)
      ] }) })) })
    ] });
  }

  // src/diff.tsx
  function DiffPanel({ v: v3 }) {
    const { files, names, tracks } = v3.info;
    const { base, area } = v3, several = files.length > 1 && !base;
    const sides = several ? [0, 1].map((file) => ({ title: files[file], range: v3.shown, tracks: callTracks(v3).filter((i4) => tracks[i4].file === file) })) : [base, area].map((range) => ({ title: range ? `${duration(range.to - range.from)} from ${clockTime(v3.info.first, range.from)}` : "", range: range || v3.whole, tracks: callTracks(v3) }));
    const ready = several || base && area;
    const compare2 = async () => {
      if (!ready)
        return [];
      const [a3, b] = await Promise.all(sides.map((s3) => ofTracks(s3.tracks, (t3) => v3.source.table(s3.range.from, s3.range.to, t3))));
      const all = /* @__PURE__ */ new Map();
      const row = (name) => {
        const key = names[name];
        if (!all.has(key))
          all.set(key, { name: key, a: 0, b: 0, callsA: 0, callsB: 0 });
        return all.get(key);
      };
      for (const [name, calls, , self] of a3)
        Object.assign(row(name), { a: row(name).a + self, callsA: row(name).callsA + calls });
      for (const [name, calls, , self] of b)
        Object.assign(row(name), { b: row(name).b + self, callsB: row(name).callsB + calls });
      return [...all.values()].sort((p3, q2) => Math.abs(q2.b - q2.a) - Math.abs(p3.b - p3.a));
    };
    const rows = useAnswer([], compare2, v3.failed, [ready, JSON.stringify(sides)]);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("div", { class: "option", children: [
        /* @__PURE__ */ u3("button", { disabled: !area, onClick: () => {
          v3.base = area;
          v3.changed();
        }, children: "The chosen range is A" }),
        base && /* @__PURE__ */ u3("button", { onClick: () => {
          v3.base = null;
          v3.changed();
        }, children: "No A" })
      ] }),
      !ready && /* @__PURE__ */ u3("p", { class: "hint", children: [
        "Choose a range (drag with Shift), make it A, and choose another one, which is B",
        files.length > 1 ? "" : "; or open two files",
        "."
      ] }),
      ready && /* @__PURE__ */ u3("table", { class: "functions diff", children: [
        /* @__PURE__ */ u3("caption", { children: [
          "A: ",
          sides[0].title,
          "; B: ",
          sides[1].title
        ] }),
        /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: [
          /* @__PURE__ */ u3("th", { scope: "col", children: "Function" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "A self" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "B self" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "B − A" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "A calls" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "B calls" })
        ] }) }),
        /* @__PURE__ */ u3("tbody", { children: rows.slice(0, 500).map((r3) => /* @__PURE__ */ u3("tr", { onClick: () => v3.highlight(r3.name), class: v3.highlightedName === r3.name ? "lit" : "", children: [
          /* @__PURE__ */ u3("td", { title: r3.name, children: /* @__PURE__ */ u3("button", { children: r3.name }) }),
          /* @__PURE__ */ u3("td", { children: duration(r3.a) }),
          /* @__PURE__ */ u3("td", { children: duration(r3.b) }),
          /* @__PURE__ */ u3("td", { class: r3.b > r3.a ? "more" : "less", children: [
            r3.b > r3.a ? "+" : "",
            duration(r3.b - r3.a)
          ] }),
          /* @__PURE__ */ u3("td", { children: r3.callsA }),
          /* @__PURE__ */ u3("td", { children: r3.callsB })
        ] })) })
      ] })
    ] });
  }

  // src/flame.tsx
  var FLAME_LINE = 18;
  function flameBoxes(rows, root) {
    const children = [];
    rows.forEach(([caller], i4) => (children[caller] = children[caller] || []).push(i4 + 1));
    const total = (node2) => node2 ? rows[node2 - 1][3] : (children[0] || []).reduce((sum, i4) => sum + rows[i4 - 1][3], 0);
    const boxes = [];
    const all = total(root) || 1;
    const put = (node2, depth, left) => {
      const width = total(node2) / all;
      if (width < 1e-3 && node2 !== root)
        return;
      boxes.push({ node: node2, depth, left, width: total(root) ? width : 1 });
      (children[node2] || []).sort((a3, b) => total(b) - total(a3)).forEach((child) => {
        put(child, depth + 1, left);
        left += total(child) / all;
      });
    };
    put(root, 0, 0);
    return boxes;
  }
  function FlamePanel({ v: v3 }) {
    const { names } = v3.info;
    const [offCpu, setOffCpu] = d2(false);
    const [zoomed, setRoot] = d2(0);
    const rows = useFlame(v3, offCpu), root = zoomed > rows.length ? 0 : zoomed;
    const boxes = flameBoxes(rows, root);
    const deepest = boxes.reduce((d3, b) => Math.max(d3, b.depth), 0);
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("label", { class: "option", children: [
        /* @__PURE__ */ u3("input", { type: "checkbox", checked: offCpu, onChange: (e3) => {
          setOffCpu(e3.currentTarget.checked);
          setRoot(0);
        } }),
        "time off the CPU"
      ] }),
      offCpu && !rows.length && /* @__PURE__ */ u3("p", { class: "hint", children: "No time off the CPU is known: record with -e sched." }),
      /* @__PURE__ */ u3("div", { class: "flame", style: { height: `${(deepest + 1) * FLAME_LINE}px` }, children: boxes.map(({ node: node2, depth, left, width }) => {
        const row = rows[node2 - 1];
        const name = node2 ? names[row[1]] : "all";
        const title = node2 ? `${name}: ${row[2]} calls, ${duration(row[3])}, self ${duration(row[4])}` : "all";
        return /* @__PURE__ */ u3(
          "button",
          {
            class: "box",
            title,
            style: { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * FLAME_LINE}px`, background: node2 ? COLOURS[colourNumber(row[1])] : "#ccc" },
            onClick: () => {
              setRoot(node2 === root ? 0 : node2);
              v3.highlight(node2 ? name : null);
            },
            children: name
          },
          node2
        );
      }) })
    ] });
  }

  // src/notes.tsx
  function NotesPanel({ v: v3 }) {
    const [text, setText] = d2("");
    const g2 = v3.graph;
    const add2 = () => {
      if (text.trim())
        v3.addNote(text.trim());
      setText("");
    };
    return /* @__PURE__ */ u3("div", { class: "notes", children: [
      /* @__PURE__ */ u3("p", { class: "hint", children: [
        /* @__PURE__ */ u3("label", { children: [
          "Note at what is chosen, or in the middle: ",
          /* @__PURE__ */ u3("input", { class: "wide", value: text, onInput: (e3) => setText(e3.currentTarget.value), onKeyDown: (e3) => e3.key === "Enter" && add2() })
        ] }),
        /* @__PURE__ */ u3("button", { onClick: add2, children: "Add note" })
      ] }),
      /* @__PURE__ */ u3("ul", { children: g2.notes.map((note) => /* @__PURE__ */ u3("li", { children: [
        /* @__PURE__ */ u3("button", { onClick: () => g2.reveal(note.ts), children: clockTime(v3.info.first, note.ts) }),
        " ",
        note.text,
        " ",
        /* @__PURE__ */ u3("button", { "aria-label": `Remove ${note.text}`, onClick: () => {
          g2.notes = g2.notes.filter((n2) => n2 !== note);
          g2.redraw();
          v3.changed();
        }, children: "✕" })
      ] })) })
    ] });
  }

  // src/sourcetext.tsx
  function SourcePanel({ v: v3 }) {
    const { span } = v3, name = span && v3.graph.tracks[span.track].kind === "calls" ? span.name : -1;
    const answer = useAnswer(null, async () => name >= 0 && v3.source.text ? { name, text: await v3.source.text(name) } : null, v3.failed, [name]);
    const text = answer && answer.name === name ? answer.text : null;
    const here = A2(null);
    y2(() => here.current?.scrollIntoView({ block: "center" }), [text]);
    if (name < 0)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "Choose a call to see the source of its function." });
    if (!v3.source.text)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "This page has no server, so it cannot show the source." });
    if (!text)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "Reading …" });
    if (text.error)
      return /* @__PURE__ */ u3("p", { class: "hint", children: text.error });
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("p", { class: "hint", children: [
        text.path,
        ":",
        text.line
      ] }),
      /* @__PURE__ */ u3("pre", { class: "source", children: text.lines.map((line, i4) => /* @__PURE__ */ u3("span", { class: i4 + 1 === text.line ? "here" : "", ref: i4 + 1 === text.line ? here : void 0, children: [
        String(i4 + 1).padStart(5),
        "  ",
        line,
        "\n"
      ] })) })
    ] });
  }

  // src/sql.tsx
  var EXAMPLE = "SELECT name, count(*) AS calls, percentile(duration, 99) AS p99, max(duration)\nFROM slices GROUP BY name ORDER BY 4 DESC LIMIT 20";
  function SqlPanel({ v: v3 }) {
    const { source, info } = v3;
    const [question, setQuestion] = d2(EXAMPLE);
    const [answer, setAnswer] = d2(null);
    const [busy, setBusy] = d2(false);
    if (!source.sql)
      return /* @__PURE__ */ u3("p", { class: "hint", children: "This page has no server. Use vestige sql FILE 'SELECT ...' instead." });
    const run = async () => {
      setBusy(true);
      try {
        setAnswer(await source.sql(question));
      } catch (error) {
        setAnswer({ error: error.message, names: [], rows: [], cut: false });
      }
      setBusy(false);
    };
    const start = answer && !answer.error ? answer.names.indexOf("start") : -1, length = answer && !answer.error ? answer.names.indexOf("duration") : -1;
    const show2 = (from, ns) => v3.graph.show(from - Math.max(ns, 1e3), from + 2 * Math.max(ns, 1e3));
    const go = (row) => {
      if (start >= 0 && /^\d+$/.test(row[start] || ""))
        show2(Number(BigInt(row[start]) - BigInt(info.first)), Number(row[length] || 0));
    };
    return /* @__PURE__ */ u3("div", { class: "sql", children: [
      /* @__PURE__ */ u3(
        "textarea",
        {
          "aria-label": "SELECT of the tables slices, events, states, cpus, tracks, functions",
          rows: 3,
          value: question,
          onInput: (e3) => setQuestion(e3.currentTarget.value),
          onKeyDown: (e3) => e3.ctrlKey && e3.key === "Enter" && run()
        }
      ),
      /* @__PURE__ */ u3("button", { onClick: run, disabled: busy, children: "Run" }),
      start >= 0 && /* @__PURE__ */ u3("button", { onClick: () => v3.plot({ kind: "sql", question }), children: "Show as a track" }),
      answer && answer.error && /* @__PURE__ */ u3("p", { class: "hint", role: "alert", children: answer.error }),
      answer && !answer.error && /* @__PURE__ */ u3("table", { class: "functions", children: [
        /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: answer.names.map((name) => /* @__PURE__ */ u3("th", { scope: "col", children: name })) }) }),
        /* @__PURE__ */ u3("tbody", { children: answer.rows.map((row) => /* @__PURE__ */ u3("tr", { onClick: () => go(row), children: row.map((cell) => /* @__PURE__ */ u3("td", { title: cell || "", children: cell })) })) })
      ] }),
      answer && answer.cut && /* @__PURE__ */ u3("p", { class: "hint", children: "There are more rows." })
    ] });
  }

  // src/table.tsx
  var HEADS = ["Function", "Calls", "Total", "Self", "Min", "Max"];
  function TablePanel({ v: v3 }) {
    const { names } = v3.info, { from, to } = v3.shown, tracks = callTracks(v3);
    const rows = useAnswer([], () => ofTracks(tracks, (t3) => v3.source.table(from, to, t3)), v3.failed, [from, to, tracks.join()]);
    const [by, setBy] = d2(3);
    const sorted = [...rows].sort((a3, b) => by ? b[by] - a3[by] : names[a3[0]].localeCompare(names[b[0]])).slice(0, 500);
    return /* @__PURE__ */ u3("table", { class: "functions", children: [
      /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: HEADS.map((head, i4) => /* @__PURE__ */ u3("th", { scope: "col", "aria-sort": by === i4 ? i4 ? "descending" : "ascending" : "none", children: /* @__PURE__ */ u3("button", { onClick: () => setBy(i4), children: head }) })) }) }),
      /* @__PURE__ */ u3("tbody", { children: sorted.map((row) => /* @__PURE__ */ u3("tr", { onClick: () => v3.highlight(names[row[0]]), class: v3.highlightedName === names[row[0]] ? "lit" : "", children: [
        /* @__PURE__ */ u3("td", { title: names[row[0]], children: /* @__PURE__ */ u3("button", { children: names[row[0]] }) }),
        /* @__PURE__ */ u3("td", { children: row[1] }),
        row.slice(2).map((ns) => /* @__PURE__ */ u3("td", { children: duration(ns) }))
      ] }, row[0])) })
    ] });
  }

  // src/calltree.ts
  function node(name) {
    return { name, calls: 0, total: 0, self: 0, children: [] };
  }
  function treeOf(rows) {
    const nodes = [node(-1), ...rows.map(([, name, calls, total, self]) => ({ name, calls, total, self, children: [] }))];
    rows.forEach(([caller], i4) => nodes[caller].children.push(nodes[i4 + 1]));
    nodes[0].total = nodes[0].children.reduce((sum, c3) => sum + c3.total, 0);
    return nodes[0];
  }
  function paths(tree, visit, path = []) {
    for (const child of tree.children) {
      path.push(child.name);
      visit(path, child.self, child.calls);
      paths(child, visit, path);
      path.pop();
    }
  }
  function add(root, path, self, calls) {
    let at = root;
    at.total += self;
    for (const name of path) {
      let next = at.children.find((c3) => c3.name === name);
      if (!next)
        at.children.push(next = node(name));
      next.total += self;
      at = next;
    }
    at.self += self;
    at.calls += calls;
  }
  function transformed(tree, transforms) {
    return transforms.reduce((from, { kind, name }) => {
      const to = node(-1);
      paths(from, (path, self, calls) => {
        if (kind === "focus") {
          const at = path.indexOf(name);
          if (at >= 0)
            add(to, path.slice(at), self, calls);
        } else if (kind === "merge") {
          const left = path.filter((n2) => n2 !== name);
          if (left.length)
            add(to, left, self, path[path.length - 1] === name ? 0 : calls);
          else
            to.total += self;
        } else {
          const first = path.indexOf(name), last = path.lastIndexOf(name);
          const nested = first !== last && last === path.length - 1;
          add(to, first < 0 ? path : [...path.slice(0, first), ...path.slice(last)], self, nested ? 0 : calls);
        }
      });
      return to;
    }, tree);
  }
  function inverted(tree) {
    const to = node(-1);
    paths(tree, (path, self, calls) => add(to, [...path].reverse(), self, calls));
    const fill = (at) => at.calls += at.children.reduce((sum, c3) => sum + fill(c3), 0);
    to.children.forEach(fill);
    const clear = (at) => {
      at.self = 0;
      at.children.forEach(clear);
    };
    to.children.forEach((at) => {
      clear(at);
      at.self = at.total;
    });
    return to;
  }

  // src/tree.tsx
  var ACTIONS = [
    ["focus", "Focus", "show only this function and what it calls"],
    ["merge", "Merge", "leave this function out: its time goes to its caller"],
    ["collapse", "Collapse recursion", "show a recursion as one call"]
  ];
  function TreePanel({ v: v3 }) {
    const { names } = v3.info;
    const [inverts, setInverts] = d2(false);
    const [offCpu, setOffCpu] = d2(false);
    const [transforms, setTransforms] = d2([]);
    const [open, setOpen] = d2(/* @__PURE__ */ new Set());
    const [at, setAt] = d2("");
    const rows = useFlame(v3, offCpu);
    const changed = transformed(treeOf(rows), transforms), tree = inverts ? inverted(changed) : changed, all = tree.total || 1;
    const lines = [];
    const put = (node2, depth, path) => {
      for (const child of [...node2.children].sort((a3, b) => b.total - a3.total).slice(0, 200)) {
        const here = `${path}/${child.name}`;
        lines.push({ node: child, depth, path: here });
        if (open.has(here) || depth === 0 && !open.has(`-${here}`) && node2.children.length === 1)
          put(child, depth + 1, here);
      }
    };
    put(tree, 0, "");
    const chosen = lines.find((l3) => l3.path === at);
    const toggle = (path) => {
      const next = new Set(open), is = lines.some((l3) => l3.path.startsWith(`${path}/`));
      is ? (next.delete(path), next.add(`-${path}`)) : (next.add(path), next.delete(`-${path}`));
      setOpen(next);
    };
    const choose = (l3) => {
      setAt(l3.path);
      v3.highlightedName = "";
      v3.highlight(names[l3.node.name]);
    };
    const key = (e3) => {
      const i4 = lines.findIndex((l3) => l3.path === at), to = { ArrowDown: i4 + 1, ArrowUp: i4 - 1 }[e3.key];
      if (to !== void 0 && lines[to])
        choose(lines[to]);
      else if ((e3.key === "ArrowRight" || e3.key === "ArrowLeft" || e3.key === "Enter") && at)
        toggle(at);
      else
        return;
      e3.preventDefault();
      e3.stopPropagation();
    };
    return /* @__PURE__ */ u3(k, { children: [
      /* @__PURE__ */ u3("div", { class: "option", children: [
        /* @__PURE__ */ u3("label", { children: [
          /* @__PURE__ */ u3("input", { type: "checkbox", checked: inverts, onChange: (e3) => setInverts(e3.currentTarget.checked) }),
          "invert (to callers)"
        ] }),
        /* @__PURE__ */ u3("label", { children: [
          /* @__PURE__ */ u3("input", { type: "checkbox", checked: offCpu, onChange: (e3) => setOffCpu(e3.currentTarget.checked) }),
          "time off the CPU"
        ] }),
        ACTIONS.map(([kind, title, what]) => /* @__PURE__ */ u3("button", { title: what, disabled: !chosen, onClick: () => chosen && setTransforms([...transforms, { kind, name: chosen.node.name }]), children: title })),
        transforms.map((t3, i4) => /* @__PURE__ */ u3("button", { class: "transform", onClick: () => setTransforms(transforms.filter((_3, k3) => k3 !== i4)), children: [
          t3.kind,
          " ",
          names[t3.name],
          " ✕"
        ] }))
      ] }),
      /* @__PURE__ */ u3("table", { class: "functions tree", role: "treegrid", "aria-label": "Call tree", tabIndex: 0, onKeyDown: key, children: [
        /* @__PURE__ */ u3("thead", { children: /* @__PURE__ */ u3("tr", { children: [
          /* @__PURE__ */ u3("th", { scope: "col", children: "Function" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "Total" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "%" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "Self" }),
          /* @__PURE__ */ u3("th", { scope: "col", children: "Calls" })
        ] }) }),
        /* @__PURE__ */ u3("tbody", { children: lines.map((l3) => /* @__PURE__ */ u3("tr", { role: "row", "aria-level": l3.depth + 1, "aria-selected": l3.path === at, class: l3.path === at ? "lit" : "", onClick: () => choose(l3), onDblClick: () => toggle(l3.path), children: [
          /* @__PURE__ */ u3("td", { style: { paddingLeft: `${l3.depth * 14 + 2}px` }, title: names[l3.node.name], children: [
            /* @__PURE__ */ u3("span", { class: "twist", onClick: (e3) => {
              e3.stopPropagation();
              toggle(l3.path);
            }, children: l3.node.children.length ? lines.some((x2) => x2.path.startsWith(`${l3.path}/`)) ? "▾" : "▸" : " " }),
            names[l3.node.name]
          ] }),
          /* @__PURE__ */ u3("td", { children: duration(l3.node.total) }),
          /* @__PURE__ */ u3("td", { children: (100 * l3.node.total / all).toFixed(1) }),
          /* @__PURE__ */ u3("td", { children: duration(l3.node.self) }),
          /* @__PURE__ */ u3("td", { children: l3.node.calls })
        ] }, l3.path)) })
      ] })
    ] });
  }

  // src/panel.tsx
  var TABS = [
    ["chosen", "Chosen"],
    ["table", "Functions"],
    ["flame", "Flame graph"],
    ["tree", "Call tree"],
    ["diff", "Compare"],
    ["notes", "Notes"],
    ["sql", "SQL"],
    ["source", "Source"]
  ];
  function Panel({ v: v3 }) {
    const { area, info, tab } = v3;
    const panels = {
      chosen: () => /* @__PURE__ */ u3(ChosenPanel, { v: v3 }),
      table: () => /* @__PURE__ */ u3(TablePanel, { v: v3 }),
      flame: () => /* @__PURE__ */ u3(FlamePanel, { v: v3 }),
      tree: () => /* @__PURE__ */ u3(TreePanel, { v: v3 }),
      diff: () => /* @__PURE__ */ u3(DiffPanel, { v: v3 }),
      notes: () => /* @__PURE__ */ u3(NotesPanel, { v: v3 }),
      source: () => /* @__PURE__ */ u3(SourcePanel, { v: v3 }),
      sql: () => /* @__PURE__ */ u3(SqlPanel, { v: v3 })
    };
    return /* @__PURE__ */ u3("div", { class: "panel", children: [
      /* @__PURE__ */ u3("div", { class: "tabs", role: "tablist", children: TABS.map(([t3, title]) => /* @__PURE__ */ u3("button", { role: "tab", "aria-selected": tab === t3, onClick: () => {
        v3.tab = t3;
        v3.changed();
      }, children: title })) }),
      area && /* @__PURE__ */ u3("p", { class: "area", children: [
        duration(area.to - area.from),
        " from ",
        clockTime(info.first, area.from),
        " ",
        /* @__PURE__ */ u3("button", { onClick: () => v3.chooseArea(null), children: "Whole recording" })
      ] }),
      /* @__PURE__ */ u3("div", { class: "body", role: "tabpanel", "aria-label": TABS.find(([t3]) => t3 === tab)[1], tabIndex: 0, children: panels[tab]() })
    ] });
  }
  function callTracks(v3) {
    const { layout, tracks } = v3.graph;
    return tracks.flatMap((t3, i4) => t3.kind === "calls" && !layout.hidden.has(i4) && trackTitle(t3).toLowerCase().includes(layout.titleFilter.toLowerCase()) ? [i4] : []);
  }
  function useFlame(v3, offCpu) {
    const { from, to } = v3.shown, tracks = callTracks(v3), source = v3.filter.graph ? v3.list : v3.source;
    return useAnswer([], () => ofTracks(tracks, (t3) => source.flame(from, to, t3, offCpu)), v3.failed, [from, to, tracks.join(), offCpu, source]);
  }

  // src/plotdraw.ts
  function drawValues(g2, plot, p3, ink) {
    const { start } = plot.rows[0], values = plot.values, scale = p3.width / (p3.to - p3.from);
    const first = Math.max(0, lowerBound(start, p3.from) - 1), last = Math.min(start.length, lowerBound(start, p3.to) + 1);
    let [least, most] = [Infinity, -Infinity];
    for (let i4 = first; i4 < last; i4++) {
      least = Math.min(least, values[i4]);
      most = Math.max(most, values[i4]);
    }
    if (first >= last)
      return;
    const y3 = (value) => p3.top + p3.height - 2 - (most > least ? (value - least) / (most - least) * (p3.height - 6) : (p3.height - 6) / 2);
    g2.strokeStyle = "#2a6fc4";
    g2.beginPath();
    let column = -1;
    for (let i4 = first; i4 < last; i4++) {
      const x2 = (start[i4] - p3.from) * scale;
      if (i4 === first)
        g2.moveTo(x2, y3(values[i4]));
      else
        g2.lineTo(x2, Math.floor(x2) === column ? y3(values[i4]) : y3(values[i4 - 1]));
      g2.lineTo(x2, y3(values[i4]));
      column = Math.floor(x2);
      if (last - first < p3.width / 4)
        g2.rect(x2 - 1, y3(values[i4]) - 1, 2, 2);
    }
    g2.stroke();
    g2.fillStyle = ink;
    g2.fillText(String(most), 3, p3.top + 7);
    g2.fillText(String(least), 3, p3.top + p3.height - 6);
  }
  var HEAT_ROWS = 16;
  function heatBoxes(plot, from, to, columns2) {
    const { start, length } = plot.rows[0], counts = new Array(columns2 * HEAT_ROWS).fill(0);
    const powers = length.map((n2) => n2 < 1 ? 0 : Math.floor(Math.log2(n2)));
    const longest = powers.reduce((a3, b) => Math.max(a3, b), 0), shortest = Math.max(0, longest - HEAT_ROWS + 1);
    let most = 0;
    for (let i4 = lowerBound(start, from); i4 < start.length && start[i4] < to; i4++) {
      const column = Math.min(columns2 - 1, Math.floor((start[i4] - from) / (to - from) * columns2));
      const at = Math.max(0, powers[i4] - shortest) * columns2 + column;
      most = Math.max(most, ++counts[at]);
    }
    return { counts, most, shortest };
  }
  function drawHeat(g2, plot, p3) {
    const columns2 = Math.max(1, Math.floor(p3.width / 4)), { counts, most } = heatBoxes(plot, p3.from, p3.to, columns2), high = p3.height / HEAT_ROWS;
    counts.forEach((nr, i4) => {
      if (!nr)
        return;
      g2.fillStyle = `hsl(${Math.round(40 - 40 * (nr / most))},85%,${Math.round(75 - 35 * Math.sqrt(nr / most))}%)`;
      g2.fillRect(i4 % columns2 * 4, p3.top + p3.height - (Math.floor(i4 / columns2) + 1) * high, 4, high);
    });
  }

  // src/graph.ts
  var STATES = ["running", "woken", "preempted", "blocked"];
  var MIN_NS = 10;
  var GREEN = "#1a9a3c";
  var RED = "#d23030";
  var PATH = "#e07b00";
  var Graph = class {
    constructor(canvas, source, info, events) {
      this.canvas = canvas;
      this.source = source;
      this.info = info;
      this.events = events;
      this.markers = { a: null, b: null };
      this.area = null;
      this.chosen = null;
      this.highlighted = null;
      // null: all spans; else the others are drawn pale
      this.arrows = [];
      this.path = [];
      this.notes = [];
      this.scroll = 0;
      this.frames = 0;
      // drawn so far
      this.width = 0;
      this.view = 0;
      this.ratio = 1;
      this.request = null;
      this.loaded = null;
      this.redrawPending = false;
      this.pointer = null;
      this.raster = null;
      this.strip = document.createElement("canvas");
      this.range = { from: 0, to: Math.max(info.duration, MIN_NS) };
      this.states = STATES.map((s3) => info.names.findIndex((n2, i4) => n2 === s3 && info.objects[i4] === null));
      this.tracks = [...info.tracks];
      this.layout = new Layout(info, this.tracks);
      this.listen();
    }
    get lines() {
      return this.layout.lines;
    }
    // Place all rows again: the choice or the order of the tracks has changed.
    layOut() {
      this.layout.arrange();
      this.scrollTo(this.scroll);
    }
    // Show the spans of another source, as after a change of the filter.
    setSource(source) {
      this.source = source;
      this.loaded = null;
      this.request = null;
      this.redraw();
    }
    resize(width, height) {
      this.ratio = window.devicePixelRatio || 1;
      this.width = width;
      this.view = height;
      this.canvas.width = Math.max(1, Math.round(width * this.ratio));
      this.canvas.height = Math.max(1, Math.round(height * this.ratio));
      this.raster = null;
      this.redraw();
    }
    // Show a range; its ends are kept within the recording and apart.
    show(from, to) {
      const length = Math.min(Math.max(to - from, MIN_NS), Math.max(this.info.duration * 1.1, MIN_NS));
      const margin = this.info.duration * 0.05;
      from = Math.min(Math.max(from, -margin), this.info.duration + margin - length);
      this.range = { from, to: from + length };
      this.events.moved(this.range);
      this.redraw();
    }
    zoom(factor, at) {
      this.show(at - (at - this.range.from) * factor, at + (this.range.to - at) * factor);
    }
    pan(part) {
      const by = (this.range.to - this.range.from) * part;
      this.show(this.range.from + by, this.range.to + by);
    }
    // Scroll until a time, and a row if one is named, are on the screen.
    reveal(ts, track, row) {
      const { from, to } = this.range;
      if (ts < from || ts > to)
        this.show(ts - (to - from) / 2, ts + (to - from) / 2);
      const line = this.lines.find((l3) => l3.track === track && l3.row === row);
      if (line && !line.pinned && (line.top < this.scroll + SCALE + this.layout.pinnedHeight || line.top + line.height > this.scroll + this.view))
        this.scrollTo(line.top - this.view / 2);
      this.redraw();
    }
    scrollTo(top) {
      this.scroll = Math.max(0, Math.min(top, this.layout.height - this.view));
      this.events.laidOut();
      this.redraw();
    }
    // Draw with the browser's next frame.
    redraw() {
      if (this.redrawPending)
        return;
      this.redrawPending = true;
      requestAnimationFrame(() => {
        this.redrawPending = false;
        this.fetch();
        this.draw();
      });
    }
    x(ts) {
      return (ts - this.range.from) / (this.range.to - this.range.from) * this.width;
    }
    ts(x2) {
      return this.range.from + x2 / this.width * (this.range.to - this.range.from);
    }
    // The top of a line on the canvas, in pixels.
    y(line) {
      return line.pinned ? line.top : line.top - this.scroll;
    }
    visible(pinned) {
      const from = this.scroll + this.layout.pinnedHeight;
      return this.lines.filter((l3) => l3.pinned === pinned && (pinned || l3.top + l3.height > from && l3.top < this.scroll + this.view));
    }
    // Request the spans on the screen and half a screen to each side; one request at a time.
    fetch() {
      if (this.request || !this.width)
        return;
      const { from, to } = this.range, half = (to - from) / 2;
      const pixel = (to - from) / (this.width * this.ratio);
      const rows = [...this.visible(true), ...this.visible(false)].filter((l3) => !this.tracks[l3.track].plot).map((l3) => [l3.track, l3.row]);
      const a3 = this.loaded;
      if (a3 && from >= a3.from && to <= a3.to && Math.abs(a3.pixel - pixel) < pixel * 0.05 && rows.every(([t3, r3]) => a3.rows.has(`${t3}.${r3}`)))
        return;
      const request = { key: `${from} ${to}` };
      this.request = request;
      const begin2 = Math.max(0, from - half), end = to + half;
      this.source.spans(rows, begin2, end, pixel).then(
        (answer) => {
          if (this.request !== request)
            return;
          this.loaded = { from: from - half, to: end, pixel, key: request.key, rows: new Map(rows.map(([t3, r3], i4) => [`${t3}.${r3}`, answer[i4]])) };
          this.request = null;
          this.redraw();
        },
        (error) => {
          if (this.request === request)
            this.request = null;
          this.events.failed(error);
        }
      );
    }
    // Has everything been loaded and drawn?
    settled() {
      return !this.request && !this.redrawPending;
    }
    blocks(line) {
      const { plot } = this.tracks[line.track];
      if (!plot)
        return this.loaded?.rows.get(`${line.track}.${line.row}`);
      const { from, to } = this.range;
      return query(plot.rows[line.row], from, to, (to - from) / (this.width * this.ratio));
    }
    colour(track, blocks, i4) {
      if (track.kind === "cpu")
        return colourNumber(blocks[i4 + EXTRA]);
      if (track.kind === "states")
        return blocks[i4 + NAME] === this.states[0] ? colourNumber(blocks[i4 + EXTRA]) : -1;
      return colourNumber(blocks[i4 + NAME]);
    }
    draw() {
      const g2 = this.canvas.getContext("2d");
      const style = getComputedStyle(this.canvas);
      const dark = style.getPropertyValue("--dark").trim() === "1";
      const ink = style.getPropertyValue("--ink").trim() || "#000", grey = style.getPropertyValue("--line").trim() || "#ccc";
      const paper = style.getPropertyValue("--paper").trim() || "#fff", soft = style.getPropertyValue("--soft").trim() || "#eee";
      g2.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      g2.fillStyle = paper;
      g2.fillRect(0, 0, this.width, this.view);
      for (const group of this.layout.groups) {
        g2.fillStyle = soft;
        g2.fillRect(0, group.top - this.scroll, this.width, 17);
      }
      this.drawScale(g2, ink, grey);
      g2.font = "11px system-ui, sans-serif";
      g2.textBaseline = "middle";
      for (const pinned of [false, true]) {
        const top = SCALE + (pinned ? 0 : this.layout.pinnedHeight);
        g2.save();
        g2.beginPath();
        g2.rect(0, top, this.width, (pinned ? SCALE + this.layout.pinnedHeight : this.view) - top);
        g2.clip();
        for (const line of this.visible(pinned))
          this.drawLine(g2, line, dark, ink);
        this.drawLost(g2);
        this.drawPath(g2, pinned);
        g2.restore();
      }
      this.drawArrows(g2, ink);
      if (this.layout.pinnedHeight) {
        g2.fillStyle = ink;
        g2.fillRect(0, SCALE + this.layout.pinnedHeight - 1, this.width, 1);
      }
      this.drawMarks(g2, ink, paper);
      this.frames++;
    }
    drawScale(g2, ink, grey) {
      const { from, to } = this.range;
      const about = (to - from) / this.width * 110, power = 10 ** Math.floor(Math.log10(about));
      const step2 = Math.max(1, [1, 2, 5, 10].map((n2) => n2 * power).find((n2) => n2 >= about));
      g2.fillStyle = ink;
      g2.strokeStyle = grey;
      g2.font = "11px system-ui, sans-serif";
      g2.textBaseline = "middle";
      g2.beginPath();
      for (let t3 = Math.ceil(from / step2) * step2; t3 <= to; t3 += step2) {
        const x2 = Math.round(this.x(t3)) + 0.5;
        g2.moveTo(x2, SCALE - 6);
        g2.lineTo(x2, this.view);
        g2.fillText(tick(t3, step2), x2 + 3, SCALE / 2);
      }
      g2.stroke();
    }
    drawLine(g2, line, dark, ink) {
      const track = this.tracks[line.track], top = this.y(line), height = line.height - 1;
      if (track.plot && track.plot.shape !== "spans") {
        const draw = track.plot.shape === "values" ? drawValues : drawHeat;
        draw(g2, track.plot, { from: this.range.from, to: this.range.to, width: this.width, top, height }, ink);
        return;
      }
      const blocks = this.blocks(line);
      if (!blocks)
        return;
      const wide = this.canvas.width;
      if (!this.raster || this.raster.width !== wide) {
        this.raster = new ImageData(wide, 1);
        this.strip.width = wide;
        this.strip.height = 1;
      }
      const pixels = new Uint32Array(this.raster.data.buffer);
      const scale = wide / (this.range.to - this.range.from);
      const texts = [];
      const hollow = [];
      pixels.fill(0);
      for (let i4 = 0; i4 < blocks.length; i4 += WORDS) {
        const x0 = (blocks[i4 + START] - this.range.from) * scale, x1 = x0 + blocks[i4 + LENGTH] * scale;
        if (x1 < 0 || x0 > wide)
          continue;
        const left = Math.max(0, Math.floor(x0)), right = Math.min(wide, Math.max(left + 1, Math.floor(x1)));
        const colour = this.colour(track, blocks, i4);
        if (colour < 0) {
          const name = blocks[i4 + NAME];
          if (name === this.states[1] || name === this.states[2])
            hollow.push([left / this.ratio, (right - left) / this.ratio, name === this.states[1] ? GREEN : RED]);
          continue;
        }
        let pixel = PIXELS[colour];
        if (this.highlighted && !this.highlighted(blocks[i4 + NAME], track))
          pixel = pixel & 16777215 | 939524096;
        pixels.fill(pixel, left, right);
        if (right - left > 3 && blocks[i4 + COUNT] === 1)
          pixels[right - 1] = pixel & 16777215 | 1610612736;
        if (right - left > 24 * this.ratio && track.kind !== "events" && track.kind !== "cpu-events")
          texts.push([left / this.ratio, right / this.ratio, i4]);
      }
      this.strip.getContext("2d").putImageData(this.raster, 0, 0);
      g2.imageSmoothingEnabled = false;
      g2.drawImage(this.strip, 0, 0, wide, 1, 0, top, this.width, height);
      g2.fillStyle = "#101418";
      for (const [left, right, i4] of texts) {
        const room = right - left - 10, text = this.label(track, blocks[i4 + NAME], blocks[i4 + EXTRA]);
        const chars = Math.floor(room / 6);
        if (chars < 2)
          continue;
        g2.fillText(text.length > chars ? text.slice(0, chars - 1) + "…" : text, left + 5, top + height / 2 + 0.5, room);
      }
      for (const [left, w3, colour] of hollow) {
        g2.strokeStyle = colour;
        g2.strokeRect(left + 0.5, top + 1.5, Math.max(0, w3 - 1), height - 3);
      }
      const c3 = this.chosen;
      if (c3 && c3.track === line.track && c3.row === line.row) {
        g2.strokeStyle = dark ? "#fff" : "#000";
        g2.lineWidth = 2;
        g2.strokeRect(this.x(c3.start), top, Math.max(2, this.x(c3.start + c3.length) - this.x(c3.start)), height);
        g2.lineWidth = 1;
      }
    }
    nameOf(track, name) {
      return (track.plot ? track.plot.names : this.info.names)[name];
    }
    label(track, nameNumber, extra) {
      const name = this.nameOf(track, nameNumber);
      if (track.kind === "cpu")
        return `${name}-${extra}`;
      if (track.kind === "states")
        return `${name} on CPU ${extra}`;
      return name;
    }
    // Lost records: a red line at the time of each gap, and a box in the row of the CPU's events.
    drawLost(g2) {
      g2.strokeStyle = g2.fillStyle = RED;
      g2.setLineDash([3, 3]);
      g2.beginPath();
      for (const [ts, cpu] of this.info.lost) {
        const x2 = Math.round(this.x(ts)) + 0.5;
        if (x2 < 0 || x2 > this.width)
          continue;
        g2.moveTo(x2, SCALE);
        g2.lineTo(x2, this.view);
        for (const line of this.lines) {
          const track = this.tracks[line.track];
          if (track.kind === "cpu-events" && track.id === cpu)
            g2.fillRect(x2 - 4, this.y(line), 8, line.height - 1);
        }
      }
      g2.stroke();
      g2.setLineDash([]);
    }
    // The first line of a track, to which arrows lead. Undefined if the track is not shown.
    threadLine(track) {
      return this.lines.find((l3) => l3.track === track && l3.row === 0);
    }
    // The critical path: a bar beneath the states of its threads.
    drawPath(g2, pinned) {
      g2.fillStyle = PATH;
      for (const piece of this.path) {
        const line = this.threadLine(piece.track);
        if (line && line.pinned === pinned)
          g2.fillRect(this.x(piece.from), this.y(line) + line.height - 5, Math.max(1, this.x(piece.to) - this.x(piece.from)), 4);
      }
    }
    drawArrows(g2, ink) {
      g2.save();
      g2.beginPath();
      g2.rect(0, SCALE, this.width, this.view - SCALE);
      g2.clip();
      g2.strokeStyle = g2.fillStyle = ink;
      for (const { from, to } of this.arrows) {
        const a3 = this.threadLine(from.track), b = this.threadLine(to.track);
        if (!a3 || !b)
          continue;
        const [x0, y0, x1, y1] = [this.x(from.ts), this.y(a3) + a3.height / 2, this.x(to.ts), this.y(b) + b.height / 2];
        const down = y1 > y0 ? 1 : -1;
        g2.beginPath();
        g2.moveTo(x0, y0);
        g2.bezierCurveTo(x0 + 12, y0, x1 - 12, y1 - down * 14, x1, y1 - down * 5);
        g2.stroke();
        g2.beginPath();
        g2.moveTo(x1, y1);
        g2.lineTo(x1 - 4, y1 - down * 7);
        g2.lineTo(x1 + 4, y1 - down * 7);
        g2.fill();
      }
      g2.restore();
    }
    drawMarks(g2, ink, paper) {
      if (this.area) {
        const x2 = this.x(this.area.from);
        g2.fillStyle = "rgba(60,120,220,0.18)";
        g2.fillRect(x2, SCALE, this.x(this.area.to) - x2, this.view - SCALE);
      }
      for (const [at, colour, name] of [[this.markers.a, COLOURS[9], "A"], [this.markers.b, COLOURS[2], "B"], [this.pointer, ink, ""]]) {
        if (at === null)
          continue;
        const x2 = Math.round(this.x(at)) + 0.5;
        g2.strokeStyle = colour;
        g2.lineWidth = name ? 2 : 1;
        g2.beginPath();
        g2.moveTo(x2, name ? 0 : SCALE);
        g2.lineTo(x2, this.view);
        g2.stroke();
        g2.lineWidth = 1;
        if (!name)
          continue;
        g2.fillStyle = colour;
        g2.fillRect(x2, 0, 14, 14);
        g2.fillStyle = "#000";
        g2.fillText(name, x2 + 3, 8);
      }
      for (const { ts, text } of this.notes) {
        const x2 = this.x(ts), width = Math.min(160, g2.measureText(text).width + 8);
        if (x2 < -width || x2 > this.width)
          continue;
        g2.fillStyle = PATH;
        g2.fillRect(x2, SCALE - 8, 1, this.view);
        g2.fillRect(x2, SCALE - 8, width, 14);
        g2.fillStyle = paper === "#fff" ? "#000" : "#101418";
        g2.fillText(text, x2 + 4, SCALE - 1, width - 8);
      }
    }
    // The line at a height on the canvas.
    lineAt(y3) {
      const pinned = y3 < SCALE + this.layout.pinnedHeight;
      return y3 < SCALE ? void 0 : this.lines.find((l3) => l3.pinned === pinned && y3 >= this.y(l3) && y3 < this.y(l3) + l3.height);
    }
    // The nearest span within 3 pixels of a point.
    spanAt(x2, y3) {
      const line = this.lineAt(y3), blocks = line && this.blocks(line);
      if (!line || !blocks)
        return null;
      let best = -1, near = 3;
      for (let i4 = 0; i4 < blocks.length; i4 += WORDS) {
        const x0 = this.x(blocks[i4 + START]), x1 = this.x(blocks[i4 + START] + blocks[i4 + LENGTH]);
        const away = x2 < x0 ? x0 - x2 : x2 > x1 ? x2 - x1 : 0;
        if (away < near) {
          best = i4;
          near = away;
        }
      }
      if (best < 0)
        return null;
      return { track: line.track, row: line.row, start: blocks[best + START], length: blocks[best + LENGTH], name: blocks[best + NAME], count: blocks[best + COUNT], which: blocks[best + WHICH], extra: blocks[best + EXTRA] };
    }
    // The next (`by` 1) or previous (-1) span of the same row. Spans too short for the screen count,
    // too.
    async neighbour(span, by) {
      const { plot } = this.tracks[span.track], end = span.start + span.length;
      for (let reach = Math.max(1e3, span.length * 4); ; reach *= 16) {
        const from = by > 0 ? end : Math.max(0, span.start - reach), to = by > 0 ? end + reach : span.start;
        const blocks = plot ? query(plot.rows[span.row], from, to, 0) : (await this.source.spans([[span.track, span.row]], from, to, 0))[0];
        const at = [];
        for (let i5 = 0; i5 < blocks.length; i5 += WORDS)
          if (by > 0 ? blocks[i5 + START] > span.start || blocks[i5 + START] >= end && span.length : blocks[i5 + START] < span.start)
            at.push(i5);
        const i4 = by > 0 ? at[0] : at[at.length - 1];
        if (i4 !== void 0)
          return { ...span, start: blocks[i4 + START], length: blocks[i4 + LENGTH], name: blocks[i4 + NAME], count: 1, which: blocks[i4 + WHICH], extra: blocks[i4 + EXTRA] };
        if (by > 0 ? to > this.info.duration : from === 0)
          return null;
      }
    }
    listen() {
      const c3 = this.canvas;
      let from = null;
      const place2 = (e3) => {
        const box = c3.getBoundingClientRect();
        return [e3.clientX - box.left, e3.clientY - box.top];
      };
      c3.addEventListener("wheel", (e3) => {
        e3.preventDefault();
        if (e3.shiftKey)
          this.pan(Math.sign(e3.deltaY || e3.deltaX) * 0.1);
        else if (e3.ctrlKey || e3.metaKey || !this.scrolls())
          this.zoom(e3.deltaY > 0 ? 1.25 : 0.8, this.ts(place2(e3)[0]));
        else
          this.scrollTo(this.scroll + e3.deltaY);
      }, { passive: false });
      c3.addEventListener("pointerdown", (e3) => {
        if (e3.button !== 0)
          return;
        const [x2, y3] = place2(e3);
        c3.setPointerCapture(e3.pointerId);
        from = { x: x2, range: this.range, area: e3.shiftKey || y3 < SCALE, moved: false };
      });
      c3.addEventListener("pointermove", (e3) => {
        const [x2, y3] = place2(e3);
        this.pointer = this.ts(x2);
        if (from && Math.abs(x2 - from.x) > 3)
          from.moved = true;
        if (from && from.moved && from.area) {
          const [a3, b] = [this.ts(from.x), this.ts(x2)].sort((p3, q2) => p3 - q2);
          this.area = { from: Math.max(0, a3), to: Math.min(b, this.info.duration) };
        } else if (from && from.moved) {
          const by = (from.x - x2) / this.width * (from.range.to - from.range.from);
          this.show(from.range.from + by, from.range.to + by);
        } else
          this.events.hovered(this.spanAt(x2, y3), this.pointer, e3.clientX, e3.clientY);
        this.redraw();
      });
      c3.addEventListener("pointerup", (e3) => {
        const [x2, y3] = place2(e3);
        if (from && from.moved && from.area)
          this.events.area(this.area);
        else if (from && !from.moved)
          this.events.clicked(this.spanAt(x2, y3), this.ts(x2));
        from = null;
      });
      c3.addEventListener("pointercancel", () => from = null);
      c3.addEventListener("pointerleave", () => {
        this.pointer = null;
        this.events.hovered(null, 0, 0, 0);
        this.redraw();
      });
      c3.addEventListener("contextmenu", (e3) => {
        e3.preventDefault();
        const [x2, y3] = place2(e3), line = this.lineAt(y3);
        this.events.menu(this.spanAt(x2, y3), line ? line.track : -1, this.ts(x2), e3.clientX, e3.clientY);
      });
      c3.addEventListener("dblclick", (e3) => {
        const span = this.spanAt(...place2(e3));
        if (span && span.length)
          this.show(span.start - span.length * 0.1, span.start + span.length * 1.1);
      });
    }
    scrolls() {
      return this.layout.height > this.view;
    }
  };

  // src/session.ts
  function saveSession(v3) {
    const { graph, info } = v3, { layout } = graph;
    const keys = (tracks) => [...tracks].map((i4) => trackKey(graph.tracks[i4]));
    const session = {
      vestige: "view session",
      version: 1,
      path: info.path,
      first: info.first,
      range: graph.range,
      markers: graph.markers,
      area: graph.area,
      hidden: keys(layout.hidden),
      pinned: keys(layout.pinned),
      closed: [...layout.closed],
      grouped: layout.grouped,
      filter: v3.filter,
      plots: v3.plots,
      notes: graph.notes,
      dark: v3.dark
    };
    return JSON.stringify(session, null, 1);
  }
  function isTime(n2) {
    return typeof n2 === "number" && isFinite(n2);
  }
  function readSession(text) {
    let s3;
    try {
      s3 = JSON.parse(text);
    } catch {
      throw new Error("This file is no session of vestige view.");
    }
    if (!s3 || s3.vestige !== "view session" || !s3.range || !isTime(s3.range.from) || !isTime(s3.range.to))
      throw new Error("This file is no session of vestige view.");
    const lists = [s3.hidden, s3.pinned, s3.closed, s3.plots, s3.notes];
    if (lists.some((list) => list !== void 0 && !Array.isArray(list)))
      throw new Error("This file is no session of vestige view.");
    if (s3.version !== 1)
      throw new Error(`This session is of a newer vestige (version ${s3.version}).`);
    return s3;
  }
  async function openSession(v3, text) {
    const s3 = readSession(text), { graph } = v3, { layout } = graph;
    const by = s3.path === v3.info.path && /^\d+$/.test(s3.first || "") ? Number(BigInt(s3.first) - BigInt(v3.info.first)) : 0;
    const lacks = [];
    v3.setDark(!!s3.dark);
    v3.removePlots();
    for (const plot of s3.plots || [])
      await v3.addPlot(plot).catch((e3) => {
        lacks.push(e3.message);
        v3.plots = [...v3.plots, plot];
      });
    const numbers = (keys) => (keys || []).map((key) => graph.tracks.findIndex((t3) => trackKey(t3) === key)).filter((i4) => i4 >= 0);
    layout.hidden = new Set(numbers(s3.hidden));
    layout.pinned = numbers(s3.pinned);
    layout.closed = new Set(s3.closed || []);
    layout.grouped = s3.grouped !== false;
    graph.markers = { a: isTime(s3.markers?.a) ? s3.markers.a + by : null, b: isTime(s3.markers?.b) ? s3.markers.b + by : null };
    v3.area = graph.area = s3.area && isTime(s3.area.from) && isTime(s3.area.to) ? { from: s3.area.from + by, to: s3.area.to + by } : null;
    graph.notes = (s3.notes || []).filter((n2) => isTime(n2?.ts)).map((n2) => ({ ts: n2.ts + by, text: String(n2.text) }));
    if (s3.filter)
      v3.setFilter(String(s3.filter.text), !!s3.filter.graph, !!s3.filter.list);
    graph.layOut();
    graph.show(s3.range.from + by, s3.range.to + by);
    v3.changed();
    if (lacks.length)
      throw new Error(lacks.join(" "));
  }

  // src/search.ts
  var CHUNK2 = 5e5;
  var Search = class {
    // of each piece
    constructor(source, length, steps, progress) {
      this.source = source;
      this.length = length;
      this.steps = steps;
      this.progress = progress;
      this.nr = 0;
      // matches so far
      this.scanned = 0;
      // entries that were looked at
      this.stopped = false;
      this.counts = [];
    }
    find(chunk, from = chunk * CHUNK2, to = (chunk + 1) * CHUNK2) {
      return this.source.find(this.steps, Math.max(from, chunk * CHUNK2), Math.min(to, (chunk + 1) * CHUNK2, this.length));
    }
    async count() {
      for (let chunk = 0; chunk * CHUNK2 < this.length && !this.stopped; chunk++) {
        const [nr] = await this.find(chunk);
        this.counts[chunk] = nr;
        this.nr += nr;
        this.scanned = Math.min(this.length, (chunk + 1) * CHUNK2);
        this.progress();
      }
    }
    get counted() {
      return this.scanned >= this.length;
    }
    // The next match behind `at`, or the last one before it; -1: there is none, or it was stopped.
    async next(at, backward) {
      const last = Math.max(0, Math.floor((this.length - 1) / CHUNK2));
      const from = backward ? Math.min(at - 1, this.length - 1) : at + 1;
      for (let chunk = Math.floor(from / CHUNK2); chunk >= 0 && chunk <= last && !this.stopped; chunk += backward ? -1 : 1) {
        if (this.counts[chunk] === 0)
          continue;
        const [nr, first, end] = backward ? await this.find(chunk, void 0, at) : await this.find(chunk, at + 1);
        if (nr && !this.stopped)
          return backward ? end : first;
      }
      return -1;
    }
    // How many matches are before one.
    async before(at) {
      const chunk = Math.floor(at / CHUNK2), here = await this.find(chunk, void 0, at);
      return this.counts.slice(0, chunk).reduce((a3, b) => a3 + b, 0) + here[0];
    }
  };

  // src/wakeups.ts
  var MAX_PIECES = 2e3;
  var AT_ONCE = 64;
  var Wakeups = class {
    constructor(source, info) {
      this.source = source;
      this.info = info;
      this.wakes = /* @__PURE__ */ new Map();
      // events that woke a thread, by its tid
      this.states = /* @__PURE__ */ new Map();
    }
    // The number of the states track of a track's thread; -1: states were not recorded.
    statesOf(track) {
      const t3 = this.info.tracks[track];
      return this.info.tracks.findIndex((x2) => x2.kind === "states" && x2.id === t3.id && x2.pid === t3.pid && x2.file === t3.file);
    }
    // The last event that woke a track's thread, at `ts` or before: of the same file, since another
    // one may have a thread of the same number.
    async waker(track, ts) {
      const { id: tid, file } = this.info.tracks[track];
      if (!this.wakes.has(tid))
        this.wakes.set(tid, this.source.filtered(`event glob sched:sched_wak*
.pid eq ${tid}
and`));
      const wakes = this.wakes.get(tid);
      for (let end = await wakes.number(ts + 1); end > 0; end -= AT_ONCE) {
        const at = Math.max(0, end - AT_ONCE), some = await wakes.list(at, end - at);
        const found = some.reverse().find((w3) => this.info.tracks[w3[3]].file === file);
        if (found)
          return found;
      }
      return null;
    }
    // The arrow from the waker to the time at which a thread was woken; null if the waker is not
    // known.
    async arrow(track, woken) {
      const states = this.statesOf(track), by = await this.waker(track, woken);
      if (!by || states < 0)
        return null;
      const from = this.statesOf(by[3]);
      return { from: { track: from < 0 ? by[3] : from, ts: by[0] }, to: { track: states, ts: woken } };
    }
    statesIn(track, from, to) {
      const key = `${track} ${from} ${to}`;
      if (!this.states.has(key))
        this.states.set(key, this.source.spans([[track, 0]], from, to, 0).then(([blocks]) => {
          const out = [];
          for (let i4 = 0; i4 < blocks.length; i4 += WORDS)
            out.push({ start: blocks[i4 + START], end: blocks[i4 + START] + blocks[i4 + LENGTH], name: this.info.names[blocks[i4 + NAME]] });
          return out;
        }));
      return this.states.get(key);
    }
    // The critical path of a thread from `from` to `to`: its time running and waiting for a CPU.
    // While it was blocked, the path goes on in the thread that woke it.
    async path(track, from, to) {
      const out = { pieces: [], arrows: [] };
      const first = this.statesOf(track);
      if (first < 0)
        throw new Error("The states of this thread are not recorded: record with -e sched.");
      await this.follow(out, first, from, to, []);
      out.pieces.sort((a3, b) => a3.from - b.from);
      return out;
    }
    async follow(out, track, from, to, above) {
      for (const { start, end, name } of (await this.statesIn(track, from, to)).reverse()) {
        const [a3, b] = [Math.max(start, from), Math.min(end, to)];
        if (a3 >= b || out.pieces.length >= MAX_PIECES)
          continue;
        const by = name === "blocked" && end <= to ? await this.waker(track, end) : null;
        const next = by && by[0] > start ? this.statesOf(by[3]) : -1;
        if (by && next >= 0 && next !== track && !above.includes(next)) {
          out.arrows.push({ from: { track: next, ts: by[0] }, to: { track, ts: end } });
          await this.follow(out, next, a3, Math.min(b, by[0]), [...above, track]);
        } else
          out.pieces.push({ track, from: a3, to: b, state: name });
      }
    }
  };

  // src/viewer.ts
  var Viewer = class {
    // ends what goes on without the page
    constructor(source, info, changed) {
      this.source = source;
      this.info = info;
      this.changed = changed;
      this.span = null;
      this.entry = -1;
      // number of the chosen entry in the list; -1: none
      this.tab = "chosen";
      this.dialog = null;
      this.menu = null;
      this.card = null;
      this.marker = "a";
      this.area = null;
      this.base = null;
      // what `area` is compared with
      this.filter = { text: "", graph: false, list: true };
      this.searchInput = { text: "", column: "any", mode: "contains" };
      this.search = null;
      this.found = "";
      this.busy = "";
      // the action that is running, for the bar
      this.problem = "";
      this.plots = [];
      this.highlightedName = "";
      this.path = null;
      this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
      this.detach = () => {
      };
      this.failed = (error) => {
        this.problem = error.message;
        this.busy = "";
        this.changed();
      };
      this.list = source;
      this.listLength = info.list;
      this.range = { from: 0, to: info.duration };
      this.whole = { from: 0, to: info.duration + 1 };
      this.wakeups = new Wakeups(source, info);
    }
    // Run an action that takes time. The bar names it meanwhile; an error is shown.
    runTask(what, todo) {
      this.busy = what;
      this.problem = "";
      this.changed();
      todo().then(() => {
        this.busy = "";
        this.changed();
      }, this.failed);
    }
    attach(canvas) {
      this.graph = new Graph(canvas, this.source, this.info, {
        moved: (r3) => this.moved(r3),
        hovered: (span, _ts, x2, y3) => {
          this.card = span ? { span, x: x2, y: y3 } : null;
          this.changed();
        },
        clicked: (span, ts) => this.clicked(span, ts),
        menu: (span, track, ts, x2, y3) => this.openMenu(span, track, ts, x2, y3),
        area: (r3) => this.chooseArea(r3),
        failed: this.failed,
        laidOut: this.changed
      });
      const back = () => {
        const asked = /t=(-?\d+)-(\d+)/.exec(location.hash);
        if (asked)
          this.graph.show(Number(asked[1]), Number(asked[2]));
      };
      back();
      window.addEventListener("popstate", back);
      this.detach = () => {
        window.removeEventListener("popstate", back);
        clearTimeout(this.historyTimer);
        this.stopSearch();
      };
    }
    // The address has the range that is shown; the browser's back button goes to the range before it.
    moved(r3) {
      this.range = r3;
      const hash = `#t=${Math.round(r3.from)}-${Math.round(r3.to)}`;
      clearTimeout(this.historyTimer);
      this.historyTimer = setTimeout(() => location.hash !== hash && history.pushState(null, "", hash), 300);
      this.changed();
    }
    // -- choosing
    choose(s3, ts) {
      const g2 = this.graph;
      g2.chosen = s3;
      g2.markers[this.marker] = s3 ? s3.start : ts;
      g2.arrows = [];
      g2.path = [];
      this.path = null;
      this.span = s3;
      this.tab = this.tab === "source" && s3 ? "source" : "chosen";
      g2.redraw();
      this.changed();
      if (s3 && !this.info.reading)
        this.showWaker(s3);
    }
    track(i4) {
      return this.graph.tracks[i4];
    }
    // Of a state `woken`, or of one that ends with a wakeup: an arrow from the thread that woke this
    // one.
    showWaker(s3) {
      const track = this.track(s3.track), state = track.plot ? "" : this.info.names[s3.name];
      if (track.kind !== "states" || state !== "woken" && state !== "blocked")
        return;
      this.wakeups.arrow(s3.track, state === "woken" ? s3.start : s3.start + s3.length).then((arrow) => {
        if (arrow && this.span === s3)
          this.graph.arrows = [arrow];
        this.graph.redraw();
      }, this.failed);
    }
    // Choose a span of the graph, and find its entry in the list.
    clicked(s3, ts) {
      this.choose(s3, ts);
      if (!this.info.reading)
        this.list.number(s3 ? s3.start : ts).then((at) => this.pickAt(at, s3), this.failed);
    }
    goTo(s3) {
      this.graph.layout.reveal(s3.track);
      this.clicked(s3, s3.start);
      this.graph.reveal(s3.start, s3.track, s3.row);
    }
    // Several entries may begin at the same time: choose the one of the span.
    async pickAt(at, s3) {
      for (const [i4, e3] of s3 ? (await this.list.list(at, 64)).entries() : []) {
        if (e3[0] !== s3.start)
          break;
        const track = this.track(s3.track);
        if (e3[2] !== s3.name || (isEvent(e3) ? !(track.kind === "cpu-events" ? e3[6] === track.id : e3[3] === s3.track) : e3[3] !== s3.track || e3[4] !== s3.row))
          continue;
        this.entry = at + i4;
        this.changed();
        return;
      }
      this.entry = Math.min(at, this.listLength - 1);
      this.changed();
    }
    chooseEntry(at, e3) {
      const [start, length, name, track, row, which, cpu] = e3;
      this.entry = at;
      this.choose({ track, row, start, length, name, count: 1, which, extra: isEvent(e3) ? which : cpu }, start);
      this.graph.layout.reveal(track);
      this.graph.reveal(start, track, row);
    }
    chooseArea(r3) {
      this.area = r3;
      this.graph.area = r3;
      if (this.tab === "chosen" || this.tab === "notes" || this.tab === "source")
        this.tab = "table";
      this.graph.redraw();
      this.changed();
    }
    // Escape: close the dialog and the menu. Where none is open, clear what is chosen.
    escape() {
      const g2 = this.graph;
      if (this.dialog || this.menu) {
        this.dialog = this.menu = null;
        return this.changed();
      }
      g2.chosen = g2.highlighted = g2.area = null;
      g2.markers = { a: null, b: null };
      g2.arrows = [];
      g2.path = [];
      this.path = null;
      this.span = this.area = null;
      this.entry = -1;
      this.highlightedName = this.problem = "";
      g2.redraw();
      this.changed();
    }
    // The range of the tables and flame graphs: the chosen one, or the whole recording.
    get shown() {
      return this.area || this.whole;
    }
    // -- moving
    zoom(factor) {
      const { from, to } = this.range, at = this.span ? this.span.start : (from + to) / 2;
      this.graph.zoom(factor, at >= from && at <= to ? at : (from + to) / 2);
    }
    // The time of the chosen span; null if it has no length.
    get chosen() {
      return this.span && this.span.length ? { from: this.span.start, to: this.span.start + this.span.length } : null;
    }
    fit() {
      const s3 = this.area || this.chosen;
      if (s3)
        this.graph.show(s3.from - (s3.to - s3.from) * 0.05, s3.to + (s3.to - s3.from) * 0.05);
    }
    async chooseBeside(by) {
      const next = this.span && await this.graph.neighbour(this.span, by);
      if (next)
        this.goTo(next);
    }
    // The caller of the chosen call (`by` -1), or the first call that it made (1).
    async chooseDepth(by) {
      const s3 = this.span, line = s3 && this.graph.lines.find((l3) => l3.track === s3.track && l3.row === s3.row + by);
      if (!s3 || !line)
        return;
      const around = { ...s3, row: s3.row + by, start: s3.start + (by < 0 ? 1 : 0), length: 0 };
      const next = by < 0 ? await this.graph.neighbour(around, -1) : await this.graph.neighbour({ ...around, start: s3.start - 1 }, 1);
      if (next && (by < 0 || next.start < s3.start + s3.length))
        this.goTo(next);
    }
    // -- searching
    async find(backward) {
      const { text, column, mode } = this.searchInput;
      if (!text)
        return;
      try {
        const steps = searchSteps(text, column, mode, this.info.first);
        const search = new Search(this.list, this.listLength, steps, () => this.showProgress());
        if (this.search)
          this.search.stopped = true;
        this.search = search;
        this.found = "searching";
        this.changed();
        const counting = search.count(), list = this.list;
        const at = await search.next(this.entry < 0 ? backward ? this.listLength : -1 : this.entry, backward);
        const entry = at >= 0 ? (await list.list(at, 1))[0] : void 0;
        if (list !== this.list)
          return;
        if (entry)
          this.chooseEntry(at, entry);
        await counting;
        if (this.search !== search || list !== this.list)
          return;
        const before = at >= 0 ? await search.before(at) : 0;
        this.search = null;
        this.found = search.stopped ? `stopped: ${search.nr} so far` : !search.nr ? "none" : at < 0 ? `${backward ? "none before" : "none behind"} of ${search.nr}` : `${before + 1} of ${search.nr}`;
        this.changed();
      } catch (error) {
        this.search = null;
        this.found = "";
        this.failed(error);
      }
    }
    showProgress() {
      if (this.search && !this.search.counted)
        this.found = `${this.search.nr} so far, ${Math.round(100 * this.search.scanned / this.listLength)} %`;
      this.changed();
    }
    stopSearch() {
      if (this.search)
        this.search.stopped = true;
    }
    // The next call of the same function, or the next event of the same name, on any track.
    async findSameName(backward) {
      const s3 = this.span;
      if (!s3 || this.track(s3.track).plot)
        return;
      const search = new Search(this.list, this.listLength, `event eq ${this.info.names[s3.name].split("\n")[0]}`, () => void 0);
      for (let at = this.entry, tries = 0; tries < 1e3; tries++) {
        at = await search.next(at, backward);
        if (at < 0)
          return;
        const [e3] = await this.list.list(at, 1);
        if (e3[2] === s3.name)
          return this.chooseEntry(at, e3);
      }
    }
    // -- filters
    setFilter(text, graph = this.filter.graph, list = this.filter.list) {
      try {
        const steps = parseFilter(text, this.info.first), those = this.source.filtered(steps);
        this.stopSearch();
        this.search = null;
        this.filter = { text, graph, list };
        this.problem = "";
        this.graph.setSource(graph ? those : this.source);
        const shown = list ? those : this.source;
        this.runTask("filtering", async () => {
          const length = await shown.number(Number.MAX_SAFE_INTEGER);
          this.list = shown;
          this.listLength = length;
          this.entry = -1;
          this.found = "";
        });
      } catch (error) {
        this.failed(error);
      }
    }
    addFilter(more) {
      const { text, graph, list } = this.filter;
      this.setFilter(andFilter(text, more), graph || !text, list);
    }
    // -- tracks
    hide(tracks, hidden) {
      for (const i4 of tracks)
        hidden ? this.graph.layout.hidden.add(i4) : this.graph.layout.hidden.delete(i4);
      this.graph.layOut();
    }
    pin(track) {
      const { layout } = this.graph, at = layout.pinned.indexOf(track);
      if (at >= 0)
        layout.pinned.splice(at, 1);
      else
        layout.pinned.push(track);
      this.graph.layOut();
    }
    toggle(group) {
      const { closed } = this.graph.layout;
      if (!closed.delete(group))
        closed.add(group);
      this.graph.layOut();
    }
    showTracks(words) {
      this.graph.layout.titleFilter = words;
      this.graph.scroll = 0;
      this.graph.layOut();
    }
    async addPlot(definition) {
      for (const plot of await makePlots(this.source, this.info, definition))
        this.graph.tracks.push({ kind: "plot", file: 0, id: 0, pid: 0, stack: 0, name: plot.title, rows: plot.rows.map((r3) => r3.start.length), plot });
      this.plots = [...this.plots, definition];
      this.graph.scroll = 0;
      this.graph.layOut();
    }
    removePlots() {
      const { graph, info } = this;
      this.span = graph.chosen = this.card = null;
      graph.layout.pinned = [];
      graph.layout.hidden = /* @__PURE__ */ new Set();
      graph.tracks.length = info.tracks.length;
      this.plots = [];
      graph.layOut();
    }
    plot(definition) {
      this.dialog = null;
      this.runTask(`making ${plotTitle(definition)}`, () => this.addPlot(definition));
    }
    // -- highlighting and the critical path
    highlight(name) {
      this.highlightedName = name === null || this.highlightedName === name ? "" : name;
      this.graph.highlighted = this.highlightedName ? (n2, track) => this.graph.nameOf(track, n2) === this.highlightedName : null;
      this.graph.redraw();
      this.changed();
    }
    showCriticalPath() {
      const s3 = this.span;
      if (!s3 || !s3.length)
        return this.failed(new Error("Choose a call or a state first: its critical path shows which thread waited for which in that time."));
      this.runTask("following wakeups", async () => {
        this.path = await this.wakeups.path(s3.track, s3.start, s3.start + s3.length);
        this.graph.path = this.path.pieces;
        this.graph.arrows = this.path.arrows;
        for (const { track } of this.path.pieces)
          this.graph.layout.reveal(track);
        this.tab = "chosen";
        this.graph.layOut();
      });
    }
    // -- notes, the session, the picture
    addNote(text) {
      const ts = this.span ? this.span.start : (this.range.from + this.range.to) / 2;
      this.graph.notes = [...this.graph.notes, { ts, text }].sort((a3, b) => a3.ts - b.ts);
      this.tab = "notes";
      this.graph.redraw();
      this.changed();
    }
    setDark(dark) {
      this.dark = dark;
      document.documentElement.dataset.dark = dark ? "1" : "0";
      this.graph.redraw();
      this.changed();
    }
    save() {
      const text = saveSession(this);
      if (this.info.session && this.source.save)
        this.runTask("saving", () => this.source.save(text));
      else
        download("vestige-session.json", new Blob([text], { type: "application/json" }));
    }
    open(text) {
      this.runTask("opening the session", () => openSession(this, text));
    }
    savePicture() {
      document.querySelector("canvas").toBlob((blob) => blob && download("vestige.png", blob));
    }
    // -- menus
    openMenu(span, track, ts, x2, y3) {
      this.card = null;
      this.menu = { x: x2, y: y3, items: this.menuOf(span, track, ts) };
      this.changed();
    }
    menuOf(span, track, ts) {
      const t3 = track >= 0 ? this.track(track) : null, items = [], { layout } = this.graph;
      const add2 = (title, run) => items.push({ title, run });
      if (span && t3 && !t3.plot && t3.kind !== "cpu" && t3.kind !== "states") {
        const name = this.info.names[span.name], short = name.length > 40 ? `${name.slice(0, 39)}…` : name;
        add2(`Show only ${short}`, () => this.addFilter(`event == ${quote(name)}`));
        add2(`Hide ${short}`, () => this.addFilter(`event != ${quote(name)}`));
        add2(`Search ${short}`, () => {
          this.searchInput = { text: name, column: "event", mode: "is" };
          this.find(false);
        });
        if (t3.kind === "calls")
          add2(`Plot how long ${short} took`, () => this.plot({ kind: "heat", name }));
        add2(`Highlight ${short}`, () => this.highlight(name));
      }
      if (t3 && !t3.plot) {
        const pid = t3.kind === "cpu" && span ? span.extra : isCpu(t3) ? -1 : t3.id, cpu = isCpu(t3) ? t3.id : t3.kind === "states" && span ? span.extra : -1;
        if (pid >= 0) {
          add2(`Show only thread ${pid}`, () => this.addFilter(`pid == ${pid}`));
          add2(`Hide thread ${pid}`, () => this.addFilter(`pid != ${pid}`));
        }
        if (cpu >= 0) {
          add2(`Show only CPU ${cpu}`, () => this.addFilter(`cpu == ${cpu}`));
          add2(`Hide CPU ${cpu}`, () => this.addFilter(`cpu != ${cpu}`));
        }
      }
      if (span && span.length) {
        add2("Zoom to it", () => this.graph.show(span.start - span.length * 0.1, span.start + span.length * 1.1));
        add2("Choose its time", () => this.chooseArea({ from: span.start, to: span.start + span.length }));
      }
      if (span && span.length && t3 && (t3.kind === "calls" || t3.kind === "states"))
        add2("Critical path", () => {
          this.choose(span, span.start);
          this.showCriticalPath();
        });
      if (t3) {
        add2(layout.pinned.includes(track) ? "Unpin this track" : "Pin this track", () => this.pin(track));
        add2("Hide this track", () => this.hide([track], true));
      }
      if (this.filter.text)
        add2("No filter", () => this.setFilter(""));
      for (const which of ["a", "b"])
        add2(`Marker ${which.toUpperCase()} here`, () => {
          this.graph.markers[which] = span ? span.start : ts;
          this.graph.redraw();
          this.changed();
        });
      return items;
    }
    entryMenu(at, e3, x2, y3) {
      this.chooseEntry(at, e3);
      this.openMenu(this.span, e3[3], e3[0], x2, y3);
    }
  };
  function download(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  }

  // src/app.tsx
  function App({ source, info, session, ready }) {
    const canvas = A2(null);
    const pane = A2(null);
    const [, redraw] = h2((n2) => n2 + 1, 0);
    const v3 = T2(() => new Viewer(source, info, () => redraw(0)), []);
    y2(() => {
      v3.attach(canvas.current);
      v3.setDark(v3.dark);
      ready(v3);
      const watch = new ResizeObserver(() => {
        v3.graph.resize(pane.current.clientWidth, pane.current.clientHeight);
        redraw(0);
      });
      watch.observe(pane.current);
      if (session)
        v3.open(session);
      const press = (e3) => onKey(v3, e3);
      window.addEventListener("keydown", press);
      return () => {
        watch.disconnect();
        v3.detach();
        window.removeEventListener("keydown", press);
      };
    }, []);
    const g2 = v3.graph, view = pane.current?.clientHeight || 0;
    return /* @__PURE__ */ u3("div", { class: "page", onClick: () => v3.menu && v3.escape(), children: [
      g2 && /* @__PURE__ */ u3(Bar, { v: v3 }),
      v3.problem && /* @__PURE__ */ u3("p", { class: "problem", role: "alert", children: v3.problem }),
      notes(info).map((note) => /* @__PURE__ */ u3("p", { class: "note", role: "note", children: note })),
      /* @__PURE__ */ u3("main", { class: "timeline", children: [
        /* @__PURE__ */ u3(Labels, { v: v3 }),
        /* @__PURE__ */ u3("div", { class: "pane", ref: pane, children: /* @__PURE__ */ u3("canvas", { ref: canvas, tabIndex: 0, role: "img", "aria-label": `Timeline of ${info.tracks.length} tracks. ${v3.span && g2 ? chosenText(v3) : ""}` }) }),
        /* @__PURE__ */ u3(
          "input",
          {
            class: "scroll",
            type: "range",
            "aria-label": "Scroll tracks",
            min: 0,
            max: Math.max(0, g2 ? g2.layout.height - view : 0),
            value: g2 ? g2.scroll : 0,
            onInput: (e3) => g2.scrollTo(Number(e3.currentTarget.value))
          }
        )
      ] }),
      v3.card && /* @__PURE__ */ u3(HoverCard, { v: v3 }),
      info.reading ? /* @__PURE__ */ u3("p", { class: "note", role: "status", children: "The recording is being read: the picture is coarse. The list, the tables and the search come when all is read." }) : /* @__PURE__ */ u3("section", { class: "below", children: [
        /* @__PURE__ */ u3(List, { v: v3, source: v3.list, length: v3.listLength, chosen: v3.entry }),
        g2 && /* @__PURE__ */ u3(Panel, { v: v3 })
      ] }),
      v3.menu && /* @__PURE__ */ u3(Menu, { v: v3 }),
      v3.dialog && /* @__PURE__ */ u3(Dialogs, { v: v3 })
    ] });
  }
  function onKey(v3, e3) {
    if (e3.key === "Escape")
      return v3.escape();
    const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(e3.target.tagName) && e3.target.type !== "checkbox";
    const key = keyOf(e3), todo = commands(v3).find((c3) => c3.keys.includes(key));
    if (!todo || e3.altKey || typing && !key.startsWith("ctrl+"))
      return;
    if (v3.menu && ["ArrowUp", "ArrowDown"].includes(key))
      return;
    e3.preventDefault();
    todo.run();
  }
  function chosenText(v3) {
    const s3 = v3.span, track = v3.graph.tracks[s3.track];
    return `Chosen: ${v3.graph.label(track, s3.name, s3.extra)}, ${trackTitle(track)}${s3.length ? `, ${duration(s3.length)}` : ""}.`;
  }
  function notes(info) {
    const out = [];
    const lost = info.lost.reduce((sum, [, , nr]) => nr < 0 ? sum : sum + nr, 0);
    if (info.lost.length)
      out.push(`Records were lost in ${info.lost.length} places${lost ? ` (at least ${lost})` : ""}: red lines. Counts and times are too low.`);
    if (info.tooDeep)
      out.push(`${info.tooDeep} calls were nested too deep to be shown.`);
    if (info.leftOut)
      out.push(`${info.leftOut} calls shorter than ${duration(info.shortest)} are left out to keep this page small. Tables and flame graphs are without them.`);
    if (info.leftEvents)
      out.push(`The last ${info.leftEvents} events are left out to keep this page small.`);
    return out;
  }
  function Labels({ v: v3 }) {
    const g2 = v3.graph;
    if (!g2)
      return /* @__PURE__ */ u3("div", { class: "labels" });
    const labels = [];
    for (const line of g2.lines) {
      const last = labels[labels.length - 1], top = g2.y(line);
      if (last && last.track === line.track)
        last.height = top + line.height - last.top;
      else
        labels.push({ track: line.track, top, height: line.height, pinned: line.pinned });
    }
    const { groups, pinnedHeight } = g2.layout, from = SCALE + pinnedHeight;
    const label = ({ track, top, height, pinned }) => /* @__PURE__ */ u3(
      "div",
      {
        class: `label${isCpu(g2.tracks[track]) ? " cpu" : ""}${pinned ? " pinned" : ""}`,
        title: trackTitle(g2.tracks[track]),
        style: { top: `${top}px`, height: `${height}px` },
        onContextMenu: (e3) => {
          e3.preventDefault();
          v3.openMenu(null, track, v3.range.from, e3.clientX, e3.clientY);
        },
        children: trackTitle(g2.tracks[track])
      },
      track
    );
    return /* @__PURE__ */ u3("div", { class: "labels", role: "group", "aria-label": "Tracks", children: [
      labels.filter((l3) => !l3.pinned && l3.top + l3.height > from && l3.top < 5e3).map(label),
      groups.filter((h3) => h3.top - g2.scroll > from - 18).map((h3) => /* @__PURE__ */ u3("button", { class: "group", "aria-expanded": !h3.closed, style: { top: `${h3.top - g2.scroll}px` }, onClick: () => v3.toggle(h3.key), children: [
        h3.closed ? "▸" : "▾",
        " ",
        h3.title,
        h3.closed ? ` (${h3.tracks})` : ""
      ] }, h3.key)),
      /* @__PURE__ */ u3("div", { class: "above", style: { height: `${from}px` }, children: labels.filter((l3) => l3.pinned).map(label) })
    ] });
  }
  function HoverCard({ v: v3 }) {
    const { span, x: x2, y: y3 } = v3.card, track = v3.graph.tracks[span.track];
    return /* @__PURE__ */ u3("div", { class: "card", style: { left: `${Math.min(x2 + 12, innerWidth - 320)}px`, top: `${Math.min(y3 + 16, innerHeight - 80)}px` }, children: [
      /* @__PURE__ */ u3("b", { children: v3.graph.nameOf(track, span.name) }),
      track.kind === "cpu" && `-${span.extra}`,
      span.count > 1 && ` and ${span.count - 1} more`,
      /* @__PURE__ */ u3("br", {}),
      trackTitle(track),
      track.kind === "states" && ` on CPU ${span.extra}`,
      /* @__PURE__ */ u3("br", {}),
      !isEvents(track) && span.length ? duration(span.length) : span.count > 1 ? `${span.count} events in ${duration(span.length)}` : "event",
      " at ",
      clockTime(v3.info.first, span.start)
    ] });
  }

  // src/server.ts
  var ServerSource = class {
    constructor(token, filter = "") {
      this.token = token;
      this.filter = filter;
    }
    async request(what, args = {}, body) {
      const query2 = new URLSearchParams();
      for (const [name, value] of Object.entries(args))
        query2.set(name, String(value));
      if (this.filter)
        query2.set("filter", this.filter);
      const headers = { "X-Vestige-Token": this.token };
      let reply;
      try {
        reply = await fetch(`/api/${what}?${query2}`, { headers, cache: "no-store", method: body === void 0 ? "GET" : "POST", body });
      } catch {
        throw new Error("vestige view does not answer: it has ended. Start it again in its terminal.");
      }
      if (reply.status === 403)
        throw new Error("This page is not from the vestige view that runs now: open the address that it printed.");
      if (!reply.ok)
        throw new Error(`vestige view: ${await reply.text()}`);
      return reply;
    }
    async ask(what, args = {}) {
      return (await this.request(what, args)).json();
    }
    info() {
      return this.ask("info");
    }
    filtered(steps) {
      return new ServerSource(this.token, steps);
    }
    spans(rows, from, to, pixel) {
      const text = rows.map(([track, row]) => `${track}.${row}`).join(",");
      return this.ask("spans", { from: whole(from), to: whole(to), pixel: whole(pixel), rows: text });
    }
    list(at, nr) {
      return this.ask("list", { at, nr });
    }
    number(ts) {
      return this.ask("number", { from: whole(ts) });
    }
    find(steps, from, to) {
      return this.ask("find", { text: steps, from, to });
    }
    table(from, to, tracks) {
      return this.ask("table", { from: whole(from), to: whole(to), tracks: tracks.join(",") });
    }
    flame(from, to, tracks, offCpu) {
      return this.ask("flame", { from: whole(from), to: whole(to), tracks: tracks.join(","), off: offCpu ? 1 : 0 });
    }
    function(name, from, to) {
      return this.ask("function", { nr: name, from: whole(from), to: whole(to) });
    }
    sql(question) {
      return this.ask("sql", { text: question });
    }
    text(name) {
      return this.ask("source", { nr: name });
    }
    generation() {
      return this.ask("generation");
    }
    async load() {
      return (await this.request("session")).text();
    }
    async save(session) {
      await this.request("session", {}, session);
    }
  };
  function whole(n2) {
    return Math.min(Math.max(0, Math.floor(n2)), Number.MAX_SAFE_INTEGER);
  }

  // src/main.tsx
  var TOKEN2 = "vestige-token";
  var LIVE_MS = 1e3;
  var READING_MS = 200;
  function takeToken() {
    const args = new URLSearchParams(location.hash.slice(1));
    const token = args.get("token");
    if (!token)
      return sessionStorage.getItem(TOKEN2) || "";
    sessionStorage.setItem(TOKEN2, token);
    args.delete("token");
    history.replaceState(null, "", `${location.pathname}#${args}`);
    return token;
  }
  var place = document.getElementById("app");
  var failed = (error) => {
    G(null, place);
    place.textContent = error.message;
  };
  async function show(source, session) {
    const seen = source.generation ? await source.generation() : 0;
    const info = await source.info();
    G(null, place);
    place.textContent = "";
    let viewer;
    const ready = (v3) => {
      viewer = v3;
      window.vestige = { viewer: v3, graph: v3.graph, source, info };
    };
    const now = info.reading ? "" : session;
    G(/* @__PURE__ */ u3(App, { source, info, session: now, ready }), place);
    if (info.live || info.reading)
      follow(source, seen, info.reading ? READING_MS : LIVE_MS, () => info.reading && session ? session : viewer ? saveSession(viewer) : "");
  }
  async function follow(source, seen, each, session) {
    for (; ; ) {
      await new Promise((done) => setTimeout(done, each));
      if (document.hidden)
        continue;
      try {
        if (await source.generation() !== seen)
          return show(source, session()).catch(failed);
      } catch (error) {
        return failed(error);
      }
    }
  }
  async function begin() {
    const data = document.getElementById("recording");
    const source = data ? LocalSource.of(JSON.parse(data.textContent)) : new ServerSource(takeToken());
    await show(source, source.load ? await source.load() : "");
  }
  begin().catch(failed);
})();
